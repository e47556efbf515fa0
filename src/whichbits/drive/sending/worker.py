"""Drives one worker's part of a cell: connections, the common start, the measured stretch, the report."""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from whichbits.drive.part import CellPart, Lead, PartReport
from whichbits.drive.sending.agenda import Agenda, closed_loop, open_loop
from whichbits.drive.sending.finished import Finished
from whichbits.drive.sending.loop import Loop
from whichbits.drive.sending.open_files import allow_open_files
from whichbits.drive.sending.samples import Samples
from whichbits.traffic.request import PlannedRequest

TICK_NS = 5_000_000
TICKS_PER_PROGRESS = 20

_AT_ONCE = 64  # handshakes: below the listen backlog of common servers (asyncio 100, uvicorn 2048)
UNCAPPED_NS = 4_000_000_000
"""An open loop without a cap opens connections for the arrivals of so long, and at most so many:"""
MOST_UNCAPPED = 1024


def drive_part(part: CellPart, lead: Lead) -> PartReport:
    """Send the part's requests from the common start on, and return when the last has ended.

    Records go to ``lead.keep`` as requests end. Where ``lead`` says stop, requests in flight become ``cancelled`` and
    those not yet sent leave no record. Blocks its thread; opens and closes its own sockets.

    Raises:
        BadInput: this machine does not allow as many open files as the part has streams.
        ValueError: the part has a rate but a request without an offset, or only some turns of a session.
    """
    agenda = _agenda(part)
    router = part.route.router(len(part.targets), part.planned)
    needed = router.most_in_flight(min(_connections_needed(part), len(part.planned)))
    allow_open_files(sum(needed))
    finished = Finished(lead, part.clock_origin_ns)
    loop = Loop(part, router, finished)
    try:
        stretch = _measure(loop, agenda, lead) if _warm(loop, needed, lead) else _not_begun()
        finished.hand_all_over()
    finally:
        loop.close()
    lead.told(loop.sent, loop.ended, loop.failed, loop.pieces)
    return _report(loop, finished, stretch, part.clock_origin_ns)


@dataclass(frozen=True)
class _Stretch:
    """The measured part of a part; absolute times."""

    started_ns: int
    finished_ns: int
    cpu_ns: int
    loop_lags_ns: tuple[int, ...]
    stopped: bool


def _not_begun() -> _Stretch:
    now_ns = time.monotonic_ns()
    return _Stretch(now_ns, now_ns, 0, (), stopped=True)


def _warm(loop: Loop, needed: Sequence[int], lead: Lead) -> bool:
    """Open the connections that the part will need; return whether the part may begin.

    A server that refuses is left for the requests to report.
    """
    loop.connections.resolve()
    to_open = [lane for lane, count in enumerate(needed) for _ in range(count)]
    to_open.reverse()
    while to_open or loop.connections.opening:
        while to_open and loop.connections.opening < _AT_ONCE:
            loop.open(to_open.pop())
        now_ns = time.monotonic_ns()
        loop.turn(now_ns + TICK_NS)
        loop.look_after(now_ns)
        if lead.stopped():
            return False
    loop.connections.sort_idle()
    return True


def _measure(loop: Loop, agenda: Agenda, lead: Lead) -> _Stretch:
    with _no_garbage_collection():
        start_ns = lead.start()
        if start_ns is None:
            return _not_begun()
        agenda.begin(start_ns)
        loop.begin(agenda)
        return _run(loop, lead, start_ns)


def _run(loop: Loop, lead: Lead, start_ns: int) -> _Stretch:
    ticks = _Ticks(loop, lead)
    cpu_ns = time.thread_time_ns()
    while not loop.over and not ticks.stopped:
        loop.turn(ticks.next_ns)
        ticks.see(time.monotonic_ns())
    if ticks.stopped:
        loop.cancel()
    finished_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns() - cpu_ns
    return _Stretch(start_ns, max(start_ns, finished_ns), cpu_ns, ticks.lags.kept(), ticks.stopped)


class _Ticks:
    """What is done at a steady interval; how late it is done is the loop's lag."""

    def __init__(self, loop: Loop, lead: Lead) -> None:
        self._loop = loop
        self._lead = lead
        self._count = 0
        self.next_ns = time.monotonic_ns() + TICK_NS
        self.lags = Samples()
        self.stopped = False

    def see(self, now_ns: int) -> None:
        if now_ns < self.next_ns:
            return
        self.lags.add(now_ns - self.next_ns)
        self.next_ns = now_ns + TICK_NS  # before the work, so that its length shows in the next lag
        self._loop.look_after(now_ns)
        self.stopped = self._lead.stopped()
        self._count += 1
        if self._count % TICKS_PER_PROGRESS == 0:
            self._tell()

    def _tell(self) -> None:
        loop = self._loop
        loop.intake.clock.renew()
        loop.hand_over()
        self._lead.told(loop.sent, loop.ended, loop.failed, loop.pieces)


def _agenda(part: CellPart) -> Agenda:
    return open_loop(part.planned, part.streams) if part.open_loop else closed_loop(part.planned, part.streams or 1)


def _connections_needed(part: CellPart) -> int:
    if part.streams is not None:
        return part.streams
    return min(MOST_UNCAPPED, _most_arrivals(part.planned, UNCAPPED_NS))


def _most_arrivals(planned: Sequence[PlannedRequest], within_ns: int) -> int:
    """Return how many requests are scheduled within any stretch of that length, at most."""
    offsets = sorted(request.offset_ns for request in planned if request.offset_ns is not None)
    most = first = 0
    for position, offset_ns in enumerate(offsets):
        while offset_ns - offsets[first] > within_ns:
            first += 1
        most = max(most, position + 1 - first)
    return most


def _report(loop: Loop, finished: Finished, stretch: _Stretch, origin_ns: int) -> PartReport:
    return PartReport(
        started_ns=stretch.started_ns - origin_ns,
        finished_ns=stretch.finished_ns - origin_ns,
        cancelled=stretch.stopped,
        cpu_ns=stretch.cpu_ns,
        send_lags_ns=loop.send_lags.kept(),
        loop_lags_ns=stretch.loop_lags_ns,
        read_lags_ns=loop.intake.read_lags.kept(),
        gaps=finished.gaps,
        short_gaps=finished.short_gaps,
        merged_gaps=finished.merged_gaps,
        late_connect_ns=finished.late_connect_ns,
        kernel_stamps=loop.intake.kernel_stamps,
        late_gaps=finished.late_gaps,
        bundled_gaps=finished.bundled_gaps,
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep the collector from stopping the loop; a full collection takes as long as many tokens."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
