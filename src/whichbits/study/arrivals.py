"""When requests come under a load with a rate; loads without one send when a stream is free."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeFloat, PositiveFloat, model_validator

from whichbits.study.strict import Strict

_BURSTINESS = "Shape of the gamma distribution of gaps: 1 is Poisson, below it requests bunch, above they are even."


class ConstantArrivals(Strict):
    """All gaps are alike."""

    kind: Literal["constant"] = Field(description="How requests arrive.")


class PoissonArrivals(Strict):
    """Gaps are exponential, not rescaled: the last request comes near count / rate, not at it."""

    kind: Literal["poisson"] = Field(description="How requests arrive.")


class GammaArrivals(Strict):
    """Gaps are gamma distributed; their coefficient of variation is burstiness ** -0.5."""

    kind: Literal["gamma"] = Field(description="How requests arrive.")
    burstiness: float = Field(default=1.0, ge=0.01, le=10_000, description=_BURSTINESS)


class RampArrivals(Strict):
    """The rate goes evenly from one share of the load's rate to another over the cell."""

    kind: Literal["ramp"] = Field(description="How requests arrive.")
    start: NonNegativeFloat = Field(default=0.0, description="Share of the load's rate at the cell's start.")
    end: NonNegativeFloat = Field(default=1.0, description="Share of it at the cell's expected end.")
    burstiness: float = Field(default=1.0, ge=0.01, le=10_000, description=_BURSTINESS)

    @model_validator(mode="after")
    def _some_requests(self) -> Self:
        if self.start + self.end == 0:
            message = "start and end cannot both be 0"
            raise ValueError(message)
        return self


class Stage(Strict):
    """A stretch of a cell at one share of the load's rate."""

    share: NonNegativeFloat = Field(description="Share of the load's rate; 0 is a pause.")
    seconds: PositiveFloat = Field(description="How long.")


class StagesArrivals(Strict):
    """The rate goes in steps; after the last stage the first comes again, if requests are left."""

    kind: Literal["stages"] = Field(description="How requests arrive.")
    stages: tuple[Stage, ...] = Field(min_length=1, description="The steps, in order.")
    burstiness: float = Field(default=1.0, ge=0.01, le=10_000, description=_BURSTINESS)

    @model_validator(mode="after")
    def _some_requests(self) -> Self:
        if not any(stage.share for stage in self.stages):
            message = "a stage needs a share above 0"
            raise ValueError(message)
        return self


class TraceArrivals(Strict):
    """Requests come in the pattern of a trace, stretched so that the mean rate is the load's."""

    kind: Literal["trace"] = Field(description="How requests arrive.")
    path: str | None = Field(default=None, min_length=1, description="The trace; the traffic's own by default.")
    speed: PositiveFloat | None = Field(
        default=None, description="Keep its times, so many times faster; the load must say the rate that follows."
    )


AnyArrivals = ConstantArrivals | PoissonArrivals | GammaArrivals | RampArrivals | StagesArrivals | TraceArrivals


def _word_is_a_kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


Arrivals = Annotated[
    Annotated[AnyArrivals, Field(discriminator="kind")],
    BeforeValidator(_word_is_a_kind),
]
"""A kind with its keys, or the word alone for its defaults."""

WORDS = ("constant", "poisson", "gamma", "ramp", "trace")
"""Kinds that need no key."""
