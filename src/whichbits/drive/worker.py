"""STAND-IN, to be replaced whole: a part driven by the asyncio dispatcher, without kernel stamps."""

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

from whichbits.drive.dispatch import Dispatcher
from whichbits.drive.outcome import to_record
from whichbits.drive.pace import pace
from whichbits.drive.part import CellPart, Lead, PartReport
from whichbits.study.model import Load

TICK_SECONDS = 0.005
PROGRESS_SECONDS = 0.1


def drive_part(part: CellPart, lead: Lead) -> PartReport:
    """Send the part and return what it leaves besides its records."""
    return asyncio.run(_drive(part, lead))


async def _drive(part: CellPart, lead: Lead) -> PartReport:
    dispatcher = Dispatcher(part.targets, part.planned, part.limits, part.route)
    lags: list[int] = []
    load = _load(part)
    try:
        stopped = await _unless_stopped(dispatcher.warm(part.planned, load), lead, lags, lambda: None)
        with _no_garbage_collection():
            start_ns = None if stopped else await asyncio.to_thread(lead.start)
            began_ns, cpu_ns = start_ns or time.monotonic_ns(), time.thread_time_ns()
            if start_ns is not None:
                lags.clear()
                sending = _paced(part, load, dispatcher, start_ns)
                stopped = await _unless_stopped(sending, lead, lags, lambda: _tell(lead, dispatcher))
        finished_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns() - cpu_ns
        _tell(lead, dispatcher)
    finally:
        await dispatcher.close()
    return await _report(part, lead, dispatcher, (began_ns, finished_ns, cpu_ns, stopped or start_ns is None), lags)


async def _paced(part: CellPart, load: Load, dispatcher: Dispatcher, start_ns: int) -> None:
    await asyncio.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
    if part.planned:
        await pace(part.planned, load, dispatcher.send, start_ns)


async def _report(
    part: CellPart, lead: Lead, dispatcher: Dispatcher, stretch: tuple[int, int, int, bool], lags: list[int]
) -> PartReport:
    began_ns, finished_ns, cpu_ns, cancelled = stretch
    exchanges, answers, origin_ns = dispatcher.exchanges, await dispatcher.answers(), part.clock_origin_ns
    pairs = sorted(zip(exchanges, answers, strict=True), key=lambda pair: pair[0].finished_ns or 0)
    for first in range(0, len(pairs), 100):
        lead.keep([to_record(exchange, answer, origin_ns) for exchange, answer in pairs[first : first + 100]])
    return PartReport(
        started_ns=began_ns - origin_ns,
        finished_ns=finished_ns - origin_ns,
        cancelled=cancelled,
        cpu_ns=cpu_ns,
        send_lags_ns=tuple(each.sent_ns - each.due_ns for each in exchanges if each.sent_ns is not None),
        loop_lags_ns=tuple(lags),
        read_lags_ns=(),
        gaps=sum(answer.separate_gaps for answer in answers),
        short_gaps=sum(answer.short_gaps for answer in answers),
        merged_gaps=0,
        late_connect_ns={each.index: each.connect_ns for each in exchanges if each.connect_ns is not None},
        kernel_stamps=False,
    )


def _load(part: CellPart) -> Load:
    """Return a load that makes the dispatcher do what the part says."""
    if not part.open_loop:
        return Load(concurrency=part.streams)
    last_ns = max((request.offset_ns or 0 for request in part.planned), default=0)
    return Load(concurrency=part.streams, request_rate=max(1.0, len(part.planned) / max(last_ns / 1e9, 0.001)))


async def _unless_stopped(
    work: Coroutine[None, None, None], lead: Lead, lags: list[int], tell: Callable[[], None]
) -> bool:
    working = asyncio.ensure_future(work)
    told_ns = time.monotonic_ns()
    try:
        while not working.done() and not lead.stopped():
            due_ns = time.monotonic_ns() + round(TICK_SECONDS * 1e9)
            await asyncio.wait({working}, timeout=TICK_SECONDS)
            now_ns = time.monotonic_ns()
            lags.append(max(0, now_ns - due_ns))
            if now_ns - told_ns > PROGRESS_SECONDS * 1e9:
                told_ns = now_ns
                tell()
    finally:
        ended = working.done()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    if ended:
        working.result()
    return not ended


def _tell(lead: Lead, dispatcher: Dispatcher) -> None:
    exchanges = dispatcher.exchanges
    lead.told(
        sent=len(exchanges),
        finished=sum(exchange.finished_ns is not None for exchange in exchanges),
        failed=sum(exchange.failure is not None for exchange in exchanges),
        chunks=sum(exchange.piece_count for exchange in exchanges),
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
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
