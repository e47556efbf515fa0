"""Stopping early: what is awaited ends when the user asks, and nothing finished is lost."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


class Stopped(Exception):  # noqa: N818 - an event, not an error
    """The user asked to stop while something else was awaited."""


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set ``stop`` on SIGINT and SIGTERM while the block runs; the running loop must be the caller's."""
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)
    for number in caught:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result:
    """Return what ``work`` returns; if ``stop`` is set first, cancel it, wait for its end and raise Stopped."""
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
