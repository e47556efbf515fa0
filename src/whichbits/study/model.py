"""The study file as types: what is asked. Every key is documented here, or with its arm, and nowhere else."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from whichbits.study.arm import Arm, ArmDefaults
from whichbits.study.arm_name import unfit_name
from whichbits.study.arrivals import Arrivals, PoissonArrivals
from whichbits.study.client import ClientPlan
from whichbits.study.fleet import FleetPlan
from whichbits.study.load import Load, Loaded, load_name
from whichbits.study.prediction import Names, parse_prediction
from whichbits.study.quality import SIXTEEN_BITS, Quality
from whichbits.study.request import RequestForm
from whichbits.study.rules import CellSize, Limits, ProfileWindow, Slo, WarmUp
from whichbits.study.search import EITHER, AutoLoads, SearchMetric, Seconds, Value, Word
from whichbits.study.strict import Strict
from whichbits.study.traffic import Traffic, misfit

__all__ = [
    "CachePolicy",
    "CellSize",
    "Limits",
    "Load",
    "Loaded",
    "ProfileWindow",
    "Slo",
    "Study",
    "WarmUp",
    "load_name",
]

CachePolicy = Literal["salt", "reset", "restart", "warm"]
Loads = Annotated["Annotated[tuple[Load, ...], Value] | Annotated[AutoLoads, Word]", EITHER]
Repeats = Annotated[Annotated[PositiveInt, Value] | Annotated[Literal["auto"], Word], EITHER]
Together = Annotated[Annotated[bool, Value] | Annotated[Literal["sleep"], Word], EITHER]


def _is_a_prediction(text: str, info: ValidationInfo) -> str:
    """Refuse what cannot be scored later; where arms or loads are wrong themselves, those complaints come first."""
    if "arms" in info.data and "loads" in info.data:
        parse_prediction(text, Names(tuple(info.data["arms"]), [str(load) for load in info.data["loads"]]))
    return text


def _usable(defaults: dict[str, Any]) -> ArmDefaults:
    """Return the defaults without those that are wrong, of which the field ``every_arm`` complains in its place."""
    try:
        return ArmDefaults.model_validate(defaults)
    except ValidationError as error:
        wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
    right = {name: value for name, value in defaults.items() if name not in wrong and name in ArmDefaults.model_fields}
    return ArmDefaults.model_validate(right)


class Study(Strict):
    """What is asked: arms, traffic, loads, and the rules of a fair answer."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Names the run folder, too.")
    every_arm: ArmDefaults = Field(default=ArmDefaults(), description="What arms have in common.")
    arms: dict[str, Arm] = Field(min_length=1, description="The variants to compare, by a name of your choice.")
    traffic: Traffic = Field(description="What is sent.")
    loads: Loads = Field(description="The points of the sweep, or `auto`: the study finds them itself.")
    arrivals: Arrivals = Field(
        default=PoissonArrivals(kind="poisson"), description="When requests come, under loads with a rate."
    )
    cell: CellSize = Field(default=CellSize(), description="How many requests each arm gets at each load.")
    repeats: Repeats = Field(
        default=1,
        description="How often each arm meets each load; `auto`: until the answer is as narrow as `precision`.",
    )
    budget: Seconds = Field(
        default=1200.0, description="Longest time of what is `auto`, server starts included: seconds, `20min` or `1h`."
    )
    precision: PositiveFloat = Field(
        default=0.1, description="What is `auto` ends when intervals reach from load / (1 + this) to load x (1 + this)."
    )
    search_metrics: tuple[SearchMetric, ...] = Field(
        default=("tpot_ms.p50",),
        description="Whose crossings an `auto` places; with an `slo`, it places each arm's highest load under it, too.",
    )
    arms_together: Together = Field(
        default=False,
        description="All arms are up at once, and each load meets them next to each other; `sleep`: all but one "
        "asleep, so that one GPU holds them (vLLM).",
    )
    seed: int = Field(default=0, ge=0, description="Prompts, lengths and arrivals all follow from it.")
    token_ids: tuple[int, int] = Field(
        default=(1000, 30000), description="Prompts draw from this range, its end excluded."
    )
    request: RequestForm = Field(default=RequestForm(), description="How requests are written.")
    warm_up: WarmUp = Field(default=WarmUp(), description="What comes before an arm is measured.")
    cache: CachePolicy = Field(
        default="salt", description="How a cell is kept cold; 'warm' sends its prompts once before it."
    )
    profile: ProfileWindow | None = Field(
        default=None, description="Where kernels spend their time, by the profiler of engines that have one."
    )
    quality: Quality | None = Field(
        default=None, description="What the bits cost in answers: each arm against a reference, after its cells."
    )
    slo: Slo | None = Field(default=None, description="What a good request is; without it, no goodput.")
    predictions: tuple[Annotated[str, AfterValidator(_is_a_prediction)], ...] = Field(
        default=(),
        description="What you expect, as `w4a16.tpot_median < w8a8.tpot_median at load 1`; scored later.",
    )
    client: ClientPlan = Field(default=ClientPlan(), description="What sends the requests.")
    limits: Limits = Field(default=Limits(), description="How long to wait, and how many failures to bear.")
    output: str = Field(default="runs", description="Folder for run folders.")
    gpu: str | None = Field(default=None, description="The GPU that `whichbits predict` puts every replica on.")
    engine_version: str | None = Field(
        default=None, description="The engine's version that `whichbits predict` supposes; the newest known by default."
    )

    plan: FleetPlan | None = Field(default=None, description="GPUs, prices and a day's traffic, for `whichbits plan`.")

    @property
    def fixed_loads(self) -> tuple[Load, ...]:
        """Return the loads that the file gives; none if the study finds them itself."""
        return () if isinstance(self.loads, AutoLoads) else self.loads

    @property
    def searches(self) -> bool:
        """Return whether cells are decided while the study runs."""
        return isinstance(self.loads, AutoLoads) or self.repeats == "auto"

    @field_validator("arms")
    @classmethod
    def _arms_can_name_files(cls, arms: dict[str, Arm]) -> dict[str, Arm]:
        for name in arms:
            if message := unfit_name(name):
                raise ValueError(message)
        return arms

    @field_validator("loads")
    @classmethod
    def _loads_that_differ(cls, loads: tuple[Load, ...] | AutoLoads) -> tuple[Load, ...] | AutoLoads:
        if isinstance(loads, AutoLoads):
            return loads
        if not loads:
            message = "a study needs a load"
            raise ValueError(message)
        twice = [str(load) for position, load in enumerate(loads) if load in loads[:position]]
        if twice:
            message = f"{twice[0]} is given twice; `repeats` measures a load again"
            raise ValueError(message)
        return loads

    @field_validator("profile", mode="before")
    @classmethod
    def _true_is_the_default_profile(cls, value: Any) -> Any:
        return {True: {}, False: None}[value] if isinstance(value, bool) else value

    @field_validator("quality", mode="before")
    @classmethod
    def _true_is_the_default_quality(cls, value: Any) -> Any:
        return {True: {}, False: None}[value] if isinstance(value, bool) else value

    @model_validator(mode="after")
    def _quality_has_a_reference(self) -> Self:
        if self.quality is None or self.quality_reference in self.arms:
            return self
        named = self.quality.reference
        message = f"quality: there is no arm {named}" if named else "quality: no arm has 16 bits; name a reference"
        raise ValueError(message)

    @property
    def quality_reference(self) -> str | None:
        """The arm that answers are held against; None if none is named and no arm has 16 bits."""
        named = None if self.quality is None else self.quality.reference
        wide = (name for name, arm in self.arms.items() if arm.weight_format in SIXTEEN_BITS)
        return named or next(wide, None)

    @model_validator(mode="after")
    def _profiled_loads_are_measured(self) -> Self:
        if self.profile is not None and (self.searches or self.arms_together == "sleep"):
            message = "profile needs loads that the file gives, and arms that do not sleep"
            raise ValueError(message)
        for load in (self.profile and self.profile.loads) or ():
            if load not in self.fixed_loads:
                message = f"profile: {load} is not among the loads"
                raise ValueError(message)
        return self

    @property
    def profiled_loads(self) -> tuple[Load, ...]:
        """The loads at which each arm is profiled."""
        if self.profile is None:
            return ()
        return self.profile.loads or tuple(dict.fromkeys((self.fixed_loads[0], self.fixed_loads[-1])))

    @model_validator(mode="after")
    def _a_search_repeats_as_it_needs(self) -> Self:
        if isinstance(self.loads, AutoLoads) and self.repeats not in (1, "auto"):
            message = "with loads: auto, the search decides how often a load is met: leave repeats out"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _what_costs_has_a_price(self) -> Self:
        free = [name for name, arm in self.arms.items() if arm.price_per_hour is None]
        if free and "cost_per_million_tokens" in self.search_metrics:
            message = f"a search for cost needs a price_per_hour for every arm; {free[0]} has none"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _what_needs_an_slo_has_one(self) -> Self:
        if self.slo is None and "goodput_requests_per_s" in self.search_metrics:
            message = "a search for goodput needs an slo"
            raise ValueError(message)
        if self.slo is None and self.searches and not self.search_metrics:
            message = "a search needs search_metrics or an slo"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _who_sleeps_was_started(self) -> Self:
        running = [name for name, arm in self.arms.items() if arm.target is not None]
        if running and self.arms_together == "sleep":
            message = f"arm {running[0]} has a target: whichbits puts only servers to sleep that it started"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _what_is_up_together_is_not_restarted(self) -> Self:
        if self.arms_together and self.cache == "restart":
            message = "arms that are up together cannot be restarted for each cell; choose one of the two"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _what_runs_already_is_not_restarted(self) -> Self:
        running = [name for name, arm in self.arms.items() if arm.target is not None]
        if running and self.cache == "restart":
            message = f"arm {running[0]} has a target: whichbits restarts no servers that it did not start"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _traffic_fits_the_rest(self) -> Self:
        if message := misfit(self.traffic, self.arrivals, self.request, searches=self.searches):
            raise ValueError(message)
        return self

    @model_validator(mode="before")
    @classmethod
    def _arms_take_the_defaults(cls, value: Any) -> Any:
        match value:
            case {"every_arm": dict() as defaults, "arms": dict() as arms}:
                shared = _usable(defaults)
                complete = {name: shared.under(arm) if isinstance(arm, dict) else arm for name, arm in arms.items()}
                return value | {"arms": complete}
            case _:
                return value
