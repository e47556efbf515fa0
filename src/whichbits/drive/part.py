"""A part of a cell: what one worker is told to send, whom it talks to meanwhile, and what it leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from whichbits.drive.routing import Route
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits
from whichbits.traffic.request import PlannedRequest


@dataclass(frozen=True)
class CellPart:
    """One worker's part of a cell.

    ``streams`` is this part's concurrency in a closed loop, and the most in flight in an open one (None: no cap).
    ``clock_origin_ns`` is a ``time.monotonic_ns()`` of the worker's own machine that all parts of a run share.
    """

    targets: tuple[Target, ...]
    planned: tuple[PlannedRequest, ...]
    streams: int | None
    open_loop: bool
    limits: Limits
    route: Route
    clock_origin_ns: int


class Lead(Protocol):
    """Who leads a worker through its part; every call must return quickly, except ``start``."""

    def start(self) -> int | None:
        """Say that connections are warm, wait for the others, and return the common start, or None: do not begin.

        Monotonic nanoseconds of the worker's machine, some milliseconds ahead.
        """
        ...

    def stopped(self) -> bool:
        """Return whether the cell is to end in order; asked some hundred times a second."""
        ...

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        """Take how far the part is; told ten times a second."""
        ...

    def keep(self, records: Sequence[RequestRecord]) -> None:
        """Take requests that are over, in the order in which they ended; the worker forgets them."""
        ...


@dataclass(frozen=True)
class PartReport:
    """What a part leaves besides its records; times are nanoseconds against the origin.

    The lists are what the self-check of the whole cell pools: ``send_lags_ns`` of every send (from the moment it could
    have left), ``loop_lags_ns`` of the worker's loop, ``read_lags_ns`` from the kernel's stamp of a read to its being
    read. They are samples where a part is long, at most some ten thousand each. ``late_gaps`` end in a
    late read; ``merged_gaps`` are those among them that it may have closed, and ``bundled_gaps`` were closed in a read
    that was not late: by the server.
    """

    started_ns: int
    finished_ns: int
    cancelled: bool
    cpu_ns: int
    send_lags_ns: tuple[int, ...]
    loop_lags_ns: tuple[int, ...]
    read_lags_ns: tuple[int, ...]
    gaps: int
    short_gaps: int
    merged_gaps: int
    late_connect_ns: dict[int, int]
    kernel_stamps: bool
    late_gaps: int = 0
    bundled_gaps: int = 0
