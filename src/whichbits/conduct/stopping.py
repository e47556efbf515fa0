"""Stopping early: what is awaited ends when the user asks, and nothing finished is lost."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):  # noqa: N818 - an event, not an error
    """The user asked to stop while something else was awaited."""


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set ``stop`` on SIGINT, SIGTERM and SIGHUP while the block runs; the loop that waits may come and go within.

    Further signals change nothing: an impatient second Ctrl-C costs neither the record nor the report. SIGHUP, which a
    terminal sends as it closes, stays ignored where it is: so nohup asks.
    """

    def caught(*_: object) -> None:
        try:
            # Threadsafe, because only that wakes a loop that is waiting for its sockets.
            asyncio.get_running_loop().call_soon_threadsafe(stop.set)
        except RuntimeError:  # no loop runs: nobody is to be woken
            stop.set()

    numbers = _CAUGHT if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*_CAUGHT, signal.SIGHUP)
    before = {number: signal.signal(number, caught) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result:
    """Return what ``work`` returns; if ``stop`` is set first, cancel it, wait for its end and raise Stopped.

    With ``stop`` already set, ``work`` is not begun.
    """
    if stop.is_set():
        work.close()
        raise Stopped
    task = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Stopped
    finally:
        for pending in (task, stopping):
            pending.cancel()
        await asyncio.gather(task, stopping, return_exceptions=True)
