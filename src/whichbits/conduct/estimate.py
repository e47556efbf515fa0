"""How long a study will take, before it starts: a rough rule, said to be one."""

from collections.abc import Sequence
from dataclasses import dataclass

from whichbits.conduct.order import Visit
from whichbits.serve.mock.settings import MockSettings
from whichbits.serve.neighbours import may_start_at_once
from whichbits.study.arm import Arm
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import PlannedRequest, plan_cell
from whichbits.traffic.request import last_due_s


@dataclass(frozen=True)
class Pace:
    """An engine's rough speed: what a start, a prompt token and a decode step cost, in seconds."""

    start_s: float
    prompt_token_s: float
    step_s: float
    step_per_sequence_s: float
    supposes: str = ""


_PACES = {"embedded": Pace(9.0, 1 / 450, 0.017, 0.0032, "the built-in model on a quiet machine of two cores")}
_MOCK_START_S = 3.0
_AROUND_A_WINDOW_S = 15.0
_GPU = Pace(120.0, 1 / 8000, 0.030, 0.0004, "a 7B model on one GPU")
"""Anything else is taken for this."""


@dataclass(frozen=True)
class StudyEstimate:
    """The estimated seconds of a whole plan and of each of its cells in order, and what they are true of."""

    seconds: float
    cells: tuple[float, ...]
    supposes: str


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a plan in totals, with its estimated seconds."""

    arm: str
    load: Load
    repeat: int
    requests: int
    prompt_tokens: int
    output_tokens: int
    seconds: float


def planned_cells(study: Study, planned: Sequence[Visit]) -> list[PlannedCell]:
    """Return the plan's cells in order."""
    return [_planned_cell(study, c.arm, Load.of(c), c.repeat) for visit in planned for c in visit.cells]


def study_seconds(study: Study, planned: Sequence[Visit]) -> float:
    """Return the estimated seconds of starting every server, driving every cell and taking every profile."""
    return study_estimate(study, planned).seconds


def study_estimate(study: Study, planned: Sequence[Visit]) -> StudyEstimate:
    """Return the estimate of the whole (see ``study_seconds``), with its parts and its conditions."""
    starts = sum(_starts_seconds(study, visit.arms) for visit in planned)
    cells = tuple(cell.seconds for cell in planned_cells(study, planned))
    supposed = dict.fromkeys(_pace(study, arm).supposes for visit in planned for arm in visit.arms)
    return StudyEstimate(starts + sum(cells) + _profiled_seconds(study, planned), cells, ", or ".join(supposed))


def _starts_seconds(study: Study, arms: Sequence[str]) -> float:
    """Return the seconds until a visit's servers are up: the longest start where all begin at once; none that run."""
    seconds = [_pace(study, arm).start_s for arm in arms if study.arms[arm].target is None]
    at_once = study.arms_together != "sleep" and may_start_at_once([study.arms[arm] for arm in arms])
    return max(seconds, default=0.0) if at_once else sum(seconds)


def _profiled_seconds(study: Study, planned: Sequence[Visit]) -> float:
    """Return the seconds of profiled windows, each with its traffic before and the writing of its trace."""
    if study.profile is None:
        return 0.0
    arms = {arm for visit in planned for arm in visit.arms}
    return len(arms) * len(study.profiled_loads) * (study.profile.seconds + _AROUND_A_WINDOW_S)


def cell_seconds(study: Study, arm: str, load: Load) -> float:
    """Return the estimated seconds of one cell."""
    return _planned_cell(study, arm, load, 0).seconds


def _planned_cell(study: Study, arm: str, load: Load, repeat: int) -> PlannedCell:
    requests = plan_cell(study, load, repeat)
    prompt = sum(request.prompt_tokens for request in requests)
    output = sum(request.output_tokens for request in requests)
    seconds = _seconds(_pace(study, arm), load, requests, prompt, output)
    return PlannedCell(arm, load, repeat, len(requests), prompt, output, seconds)


def _seconds(pace: Pace, load: Load, requests: Sequence[PlannedRequest], prompt: int, output: int) -> float:
    batch = min(load.concurrency or len(requests), len(requests))
    decode = output / batch * (pace.step_s + batch * pace.step_per_sequence_s)
    busy = prompt * pace.prompt_token_s + decode
    # A closed loop's streams wait while people think, each for its own session.
    thinking = 0.0 if load.request_rate else sum(request.think_ns for request in requests) / 1e9 / batch
    return max(busy + thinking, last_due_s(requests))


def _pace(study: Study, arm: str) -> Pace:
    asked = study.arms[arm]
    return _mocked(asked) if asked.engine == "mock" else _PACES.get(asked.engine, _GPU)


def _mocked(arm: Arm) -> Pace:
    """Return the pace that a mock's options order, for long answers: what a request waits for first is left out."""
    told = {name: arm.options.get(name, getattr(MockSettings, name)) for name in ("itl_ms", "itl_per_running_ms")}
    step, each = (float(str(value)) / 1e3 for value in told.values())
    return Pace(_MOCK_START_S, 0.0, step, each, "mocks, as their options order")
