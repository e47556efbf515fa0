"""What a running study tells whoever listens: one frozen dataclass an event, in the order they happen."""

from dataclasses import dataclass
from typing import Protocol

from whichbits.record.schema import Cell


@dataclass(frozen=True, slots=True)
class StudyStarted:
    """Before anything is served; ``cells`` is the whole plan in its order, the study's shape.

    ``cell_estimates_s`` are the cells' estimates in the same order, none if there are none; ``supposes`` says of what
    machine the estimates are true.
    """

    cells: tuple[Cell, ...]
    arms: tuple[str, ...]
    estimate_s: float | None = None
    cell_estimates_s: tuple[float, ...] = ()
    supposes: str = ""
    budget_s: float | None = None
    """Of a search, whose cells are not known yet: the longest that it may still take."""


@dataclass(frozen=True, slots=True)
class ArmStarting:
    """The arm's servers are being launched."""

    arm: str


@dataclass(frozen=True, slots=True)
class ArmReady:
    """The arm answers; ``facts_line`` says in a line what the engine said of itself.

    ``ready_s`` is None if its servers ran already.
    """

    arm: str
    ready_s: float | None
    facts_line: str


@dataclass(frozen=True, slots=True)
class WarmingUp:
    """Traffic that is not measured."""

    arm: str


@dataclass(frozen=True, slots=True)
class CellStarted:
    """A stretch of measured traffic begins; it will send ``requests``."""

    cell: Cell
    requests: int


@dataclass(frozen=True, slots=True)
class CellProgress:
    """About ten times a second in a cell; counts are since its start, ``finished`` includes ``failed``."""

    finished: int
    failed: int
    requests: int
    output_tokens: int
    elapsed_s: float
    sent: int | None = None


@dataclass(frozen=True, slots=True)
class CellFinished:
    """The cell is on disk; ``cell`` holds its state and counts."""

    cell: Cell
    tpot_p50_ms: float | None
    output_tokens_per_s: float | None


@dataclass(frozen=True, slots=True)
class StudyFinished:
    """Nothing more will be told."""

    interrupted: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know, in one sentence; ``grave`` if it costs something."""

    text: str
    grave: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """A search decided ``cells`` that were not planned before, or says what they bought."""

    text: str
    cells: tuple[Cell, ...] = ()


Event = (
    StudyStarted
    | ArmStarting
    | ArmReady
    | WarmingUp
    | CellStarted
    | CellProgress
    | CellFinished
    | StudyFinished
    | Notice
    | Decision
)


class Progress(Protocol):
    """Whoever listens; a call must return at once, since the measurement waits for it."""

    def __call__(self, event: Event, /) -> None:
        """Take one event."""
        ...
