"""One cell: its traffic from the first send to the last answer, with the client watching itself."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from whichbits.drive.client_measures import Observations
from whichbits.drive.crew.clock import agreement
from whichbits.drive.crew.crew import Crew
from whichbits.drive.crew.hand import Hand
from whichbits.drive.crew.hire import Hired
from whichbits.drive.crew.leading import Leading, Progress
from whichbits.drive.crew.orders import Order
from whichbits.drive.crew.packed import PackedPlan
from whichbits.drive.crew.split import deal, machine_notes, route_of, shares, split_notes
from whichbits.drive.crew.tally import Tally, together
from whichbits.drive.health import check
from whichbits.drive.part import PartReport
from whichbits.drive.routing import DIRECT, Route
from whichbits.drive.target import Target
from whichbits.errors import ClientFailed, WhichbitsError
from whichbits.record.parts import records_in
from whichbits.record.schema import ClientHealth, RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.traffic.request import PlannedRequest

PartFiles = Callable[[int], Path]
"""Where the worker of that number writes its requests."""


@dataclass(frozen=True)
class CellCapture:
    """What a cell left; times are nanoseconds against the origin.

    ``records`` are the requests that were sent, in index order, where memory was asked for; else they lie in ``parts``,
    in which each worker wrote its own as they ended, or nowhere. ``tally`` counts them all. ``late_connect_ns`` holds,
    by request index, the time spent on opening a connection inside a request. ``failure`` is set where a worker was
    lost, or refused its part: the capture then holds what the others did, and what lies in the lost one's part.
    """

    records: tuple[RequestRecord, ...]
    parts: tuple[Path, ...]
    tally: Tally
    started_ns: int
    finished_ns: int
    health: ClientHealth
    cancelled: bool
    late_connect_ns: dict[int, int]
    notes: tuple[str, ...] = ()
    failure: WhichbitsError | None = None


async def drive_cell(  # noqa: PLR0913 - a cell is exactly these
    targets: Sequence[Target],
    planned: Sequence[PlannedRequest],
    load: Load,
    limits: Limits,
    clock_origin_ns: int,
    *,
    route: Route = DIRECT,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    crew: Crew | None = None,
    records: PartFiles | Literal["memory", "nowhere"] = "memory",
) -> CellCapture:
    """Send ``planned`` to ``targets`` by ``route`` under ``load`` and return what came back.

    ``clock_origin_ns`` is a ``time.monotonic_ns()``. Setting ``stop`` ends the cell in order: requests in
    flight become ``cancelled``, those not yet sent leave no record, and the capture is returned. Without a ``crew``
    a thread of this process sends.

    Raises:
        ClientFailed: a worker was lost, and with it a part of the cell.
        WhichbitsError: a worker could not do as told, and why.
    """
    capture = await capture_cell(
        targets,
        planned,
        load,
        limits,
        clock_origin_ns,
        route=route,
        progress=progress,
        stop=stop,
        crew=crew,
        records=records,
    )
    if capture.failure is not None:
        raise capture.failure
    return capture


async def capture_cell(  # noqa: PLR0913 - as above
    targets: Sequence[Target],
    planned: Sequence[PlannedRequest],
    load: Load,
    limits: Limits,
    clock_origin_ns: int,
    *,
    route: Route = DIRECT,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    crew: Crew | None = None,
    records: PartFiles | Literal["memory", "nowhere"] = "memory",
) -> CellCapture:
    """Do the same, but return even what a cell left that lost a worker; its ``failure`` says so."""
    with Crew.inline() if crew is None else nullcontext(crew) as sending:
        count = sending.size(load, len(planned), route)
        workers = sending.take(count)
        dealt = zip(workers, deal(planned, count), shares(load.concurrency, count), strict=True)
        hands = [
            Hand(
                worker,
                Order(
                    targets=tuple(targets),
                    planned=PackedPlan.of(part),
                    streams=streams,
                    open_loop=load.request_rate is not None,
                    limits=limits,
                    route=route_of(route, number),
                    clock_origin_ns=clock_origin_ns,
                    destination=records(number) if callable(records) else records,
                ),
            )
            for number, (worker, part, streams) in enumerate(dealt)
        ]
        try:
            await Leading(hands, progress).through(stop or asyncio.Event())
        finally:
            for hand in hands:
                if hand.lost is not None:
                    sending.part_with(hand.worker)
    notes = (*split_notes(load, count, route), *_worker_notes(workers))
    return _captured(hands, _planned_rate(planned), notes)


def _worker_notes(workers: Sequence[Hired]) -> list[str]:
    own = [note for worker in workers for note in worker.notes]
    return machine_notes([worker.machine for worker in workers]) + own


def _captured(hands: Sequence[Hand], requested_rate: float | None, notes: tuple[str, ...]) -> CellCapture:
    done = [hand.done for hand in hands if hand.done is not None]
    reports = [each.report for each in done]
    tally = together([_tally(hand) for hand in hands])
    records = [record for each in done for record in each.records]
    started_ns, finished_ns = _stretch(reports, tally)
    return CellCapture(
        records=tuple(sorted(records, key=lambda record: record.index)),
        parts=tuple(hand.order.destination for hand in hands if isinstance(hand.order.destination, Path)),
        tally=tally,
        started_ns=started_ns,
        finished_ns=finished_ns,
        health=check(
            Observations(
                hands[0].order.open_loop, reports, tally, requested_rate, agreement([hand.clocks for hand in hands])
            )
        ),
        cancelled=any(report.cancelled for report in reports) or len(done) < len(hands),
        late_connect_ns={index: ns for report in reports for index, ns in report.late_connect_ns.items()},
        notes=notes,
        failure=_failure(hands),
    )


def _tally(hand: Hand) -> Tally:
    """Return a part's tally; that of a lost worker is counted from what it wrote."""
    if hand.done is not None:
        return hand.done.tally
    tally = Tally()
    if isinstance(hand.order.destination, Path):
        tally.add(records_in([hand.order.destination]))
    return tally


def _stretch(reports: Sequence[PartReport], tally: Tally) -> tuple[int, int]:
    if reports:
        return min(report.started_ns for report in reports), max(report.finished_ns for report in reports)
    return tally.first_sent_ns or 0, tally.last_sent_ns or 0


def _failure(hands: Sequence[Hand]) -> WhichbitsError | None:
    for hand in hands:
        if hand.refused is not None:
            return hand.refused.error()
    lost = [hand.lost for hand in hands if hand.lost is not None]
    if not lost:
        return None
    return ClientFailed(
        "client_worker_lost",
        f"The client lost a process that sends requests: {'; '.join(lost)}.",
        why="It was killed from outside, most often for want of memory, or met an error of its own.",
        fix="Look at the kernel's log for out-of-memory kills, give the client more memory or lower client.workers, "
        "and go on with `whichbits run RUN_FOLDER`; what has ended is kept.",
    )


def _planned_rate(planned: Sequence[PlannedRequest]) -> float | None:
    """Return the plan's own arrivals a second: Poisson ones of a finite cell are never exactly the load's rate."""
    offsets = [request.offset_ns for request in planned if request.offset_ns is not None]
    if len(offsets) < max(2, len(planned)) or max(offsets) == min(offsets):
        return None
    return (len(offsets) - 1) / (max(offsets) - min(offsets)) * 1e9
