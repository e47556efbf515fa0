"""One cell: its traffic from the first send to the last answer, with the client watching itself."""

import asyncio
import gc
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from whichbits.drive.dispatch import Dispatcher
from whichbits.drive.health import TICK_SECONDS, Observations, Ticker, check
from whichbits.drive.outcome import to_record
from whichbits.drive.pace import pace
from whichbits.drive.routing import DIRECT, Route
from whichbits.drive.target import Target
from whichbits.record.schema import ClientHealth, RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

PROGRESS_SECONDS = 0.1


class Progress(Protocol):
    """Told ten times a second how far a cell is; must return quickly."""

    def __call__(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        """``failed`` and ``chunks`` are what is known without decoding: broken transports, pieces of body."""
        ...


@dataclass(frozen=True)
class CellCapture:
    """What a cell left: a record of each request that was sent, in index order; times are against the origin.

    ``late_connect_ns`` holds, by request index, the time spent on opening a connection inside a request.
    """

    records: tuple[RequestRecord, ...]
    started_ns: int
    finished_ns: int
    health: ClientHealth
    cancelled: bool
    late_connect_ns: dict[int, int]


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
) -> CellCapture:
    """Send ``planned`` to ``targets`` by ``route`` under ``load`` and return what came back.

    ``clock_origin_ns`` is a ``time.monotonic_ns()``. Setting ``stop`` ends the cell in order: requests in
    flight become ``cancelled``, those not yet sent leave no record, and the capture is returned.
    """
    dispatcher = Dispatcher(targets, planned, limits, route)
    try:
        stop = stop or asyncio.Event()
        # Where nothing listens, connections take their whole patience: a wish to stop does not wait for that.
        await _unless_stopped(dispatcher.warm(planned, load), stop)
        stretch = await _run(dispatcher, planned, load, progress, stop)
    finally:
        await dispatcher.close()
    return await _capture(dispatcher, stretch, load, clock_origin_ns)


@dataclass(frozen=True)
class _Stretch:
    """The measured part of a cell; absolute times."""

    started_ns: int
    finished_ns: int
    cpu_ns: int
    loop_lags_ns: Sequence[int]
    stopped: bool


async def _run(
    dispatcher: Dispatcher,
    planned: Sequence[PlannedRequest],
    load: Load,
    progress: Progress | None,
    stop: asyncio.Event,
) -> _Stretch:
    loop_lags_ns: list[int] = []
    tickers = [Ticker(TICK_SECONDS, loop_lags_ns.append)]
    if progress is not None:
        tickers.append(Ticker(PROGRESS_SECONDS, lambda _lag_ns: _tell(progress, dispatcher)))
    with _no_garbage_collection(), _ticking(tickers):
        started_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
        stopped = await _unless_stopped(pace(planned, load, dispatcher.send, started_ns), stop)
        finished_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns() - cpu_ns
    if progress is not None:
        _tell(progress, dispatcher)
    return _Stretch(started_ns, finished_ns, cpu_ns, loop_lags_ns, stopped)


async def _unless_stopped(work: Coroutine[None, None, None], stop: asyncio.Event) -> bool:
    """Run ``work`` to its end, or cancel it when ``stop`` is set; return whether it was cancelled."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
    if working.cancelled():
        return True
    working.result()
    return False


async def _capture(dispatcher: Dispatcher, stretch: _Stretch, load: Load, origin_ns: int) -> CellCapture:
    exchanges, answers = dispatcher.exchanges, await dispatcher.answers()
    records = [to_record(exchange, answer, origin_ns) for exchange, answer in zip(exchanges, answers, strict=True)]
    seen = Observations(
        open_loop=load.request_rate is not None,
        exchanges=exchanges,
        answers=answers,
        loop_lags_ns=stretch.loop_lags_ns,
        cpu_ns=stretch.cpu_ns,
        duration_ns=stretch.finished_ns - stretch.started_ns,
    )
    return CellCapture(
        records=tuple(sorted(records, key=lambda record: record.index)),
        started_ns=stretch.started_ns - origin_ns,
        finished_ns=stretch.finished_ns - origin_ns,
        health=check(seen),
        cancelled=stretch.stopped,
        late_connect_ns={each.index: each.connect_ns for each in exchanges if each.connect_ns is not None},
    )


def _tell(progress: Progress, dispatcher: Dispatcher) -> None:
    exchanges = dispatcher.exchanges
    progress(
        sent=len(exchanges),
        finished=sum(exchange.finished_ns is not None for exchange in exchanges),
        failed=sum(exchange.failure is not None for exchange in exchanges),
        chunks=sum(exchange.piece_count for exchange in exchanges),
    )


@contextmanager
def _ticking(tickers: Sequence[Ticker]) -> Iterator[None]:
    for ticker in tickers:
        ticker.start()
    try:
        yield
    finally:
        for ticker in tickers:
            ticker.stop()


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
