"""When requests leave: closed loop, open loop, open loop under a cap."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from whichbits.study.model import Load
from whichbits.traffic.plan import PlannedRequest

_NS = 1_000_000_000
# uvloop's timers count whole milliseconds, so the last one is waited for in finer steps.
_COARSE_NS = 1_500_000
_MARGIN_NS = 1_000_000


class Send(Protocol):
    """Sends one request, returns when it is over.

    ``scheduled_ns`` is when it should have left, ``due_ns`` when it could have; absolute monotonic
    nanoseconds.
    """

    async def __call__(self, planned: PlannedRequest, *, scheduled_ns: int, due_ns: int) -> int:
        """Return when the request ended."""
        ...


async def pace(planned: Sequence[PlannedRequest], load: Load, send: Send, start_ns: int) -> None:
    """Send all of ``planned`` as ``load`` asks; returns when the last has ended.

    A load with a rate needs an ``offset_ns`` on every request; one without ignores them.
    """
    if load.request_rate is None and load.concurrency is not None:
        await closed_loop(planned, load.concurrency, send, start_ns)
    else:
        await open_loop(planned, load.concurrency, send, start_ns)


async def closed_loop(planned: Iterable[PlannedRequest], concurrency: int, send: Send, start_ns: int) -> None:
    """Keep ``concurrency`` streams busy; a request is scheduled for the moment its stream became free."""
    waiting = iter(planned)

    async def stream() -> None:
        free_ns = start_ns
        for request in waiting:
            free_ns = await send(request, scheduled_ns=free_ns, due_ns=free_ns)

    async with asyncio.TaskGroup() as streams:
        for _ in range(concurrency):
            streams.create_task(stream())


async def open_loop(planned: Sequence[PlannedRequest], cap: int | None, send: Send, start_ns: int) -> None:
    """Send each request at its offset, whatever became of the others; under a cap it may wait for a slot.

    The wait is part of every latency, since latencies count from the schedule.
    """
    slots = asyncio.Semaphore(cap or len(planned) or 1)

    async def dispatch(request: PlannedRequest, scheduled_ns: int) -> None:
        must_wait = slots.locked()
        async with slots:
            due_ns = time.monotonic_ns() if must_wait else scheduled_ns
            await send(request, scheduled_ns=scheduled_ns, due_ns=due_ns)

    async with asyncio.TaskGroup() as in_flight:
        for request in sorted(planned, key=_offset_ns):
            scheduled_ns = start_ns + _offset_ns(request)
            await until(scheduled_ns)
            in_flight.create_task(dispatch(request, scheduled_ns))


async def until(moment_ns: int) -> None:
    """Return at ``moment_ns`` or as soon after as the loop allows, never before."""
    while (left_ns := moment_ns - time.monotonic_ns()) > 0:
        coarse = left_ns > _COARSE_NS
        await asyncio.sleep((left_ns - _MARGIN_NS if coarse else left_ns) / _NS)


def _offset_ns(request: PlannedRequest) -> int:
    if request.offset_ns is None:
        message = f"request {request.index} has no offset, but the load has a rate"
        raise ValueError(message)
    return request.offset_ns
