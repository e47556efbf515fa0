"""What a lead and its workers say to each other, and the channel that carries it.

A channel is a ``multiprocessing.connection.Connection`` over any socket: a pair of this machine, or TCP. The lead
sends an ``Order``, the worker answers ``Warm`` once its connections are open, the lead sends ``Start``, the worker
``Told`` ten times a second and ``Done`` at the end. ``Stop`` may come at any time. Either's end is the other's EOF.
A worker whose clock or disk is not ours is asked for its time between cells, and sends what it would write.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from whichbits.drive.crew.packed import PackedPlan
from whichbits.drive.crew.tally import Tally
from whichbits.drive.part import CellPart, PartReport
from whichbits.drive.routing import Route
from whichbits.drive.target import Target
from whichbits.errors import WhichbitsError
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits

Destination = Path | Literal["lead", "memory", "nowhere"]
"""Where a part's requests go: a file that outlives a kill, the same by way of the lead, its memory, or nowhere."""


class Channel(Protocol):
    """Carries whole messages both ways; ``recv`` raises EOFError or OSError when the other side has gone."""

    def send(self, obj: Any, /) -> None: ...
    def recv(self) -> Any: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Order:
    """A part of a cell to drive. Times are of the worker's clock."""

    targets: tuple[Target, ...]
    planned: PackedPlan
    streams: int | None
    open_loop: bool
    limits: Limits
    route: Route
    clock_origin_ns: int
    destination: Destination

    def part(self) -> CellPart:
        """Return the part as the loop takes it."""
        return CellPart(
            self.targets,
            self.planned.unpacked(),
            self.streams,
            self.open_loop,
            self.limits,
            self.route,
            self.clock_origin_ns,
        )


@dataclass(frozen=True)
class AskClock:
    """Answer at once with your monotonic nanoseconds, a plain number; only a worker without a part is asked."""


@dataclass(frozen=True)
class Start:
    """Begin at this moment of the worker's monotonic clock."""

    at_ns: int


@dataclass(frozen=True)
class Stop:
    """End the part in order."""


@dataclass(frozen=True)
class Warm:
    """The worker's connections are open."""


@dataclass(frozen=True)
class Told:
    """How far the part is; counts since its start."""

    sent: int = 0
    finished: int = 0
    failed: int = 0
    chunks: int = 0


@dataclass(frozen=True)
class Written:
    """The next bytes of the part file that the lead writes for a worker that cannot."""

    data: bytes


@dataclass(frozen=True)
class Done:
    """The part is over. ``records`` are those that go to the lead's memory."""

    report: PartReport
    tally: Tally
    records: Sequence[RequestRecord]


@dataclass(frozen=True)
class Refused:
    """The part cannot be driven as ordered, and why; the worker goes on. The fields are an error's."""

    kind: type[WhichbitsError]
    code: str
    what: str
    why: str
    fix: str

    def error(self) -> WhichbitsError:
        """Return the error as it was raised."""
        return self.kind(self.code, self.what, why=self.why, fix=self.fix)


@dataclass(frozen=True)
class Failed:
    """The worker cannot go on."""

    error: str
