"""Waiting for a moment in an event loop, for the transport that has one."""

import asyncio
import time

_NS = 1_000_000_000
# uvloop's timers count whole milliseconds, so the last one is waited for in finer steps.
_COARSE_NS = 1_500_000
_MARGIN_NS = 1_000_000


async def until(moment_ns: int) -> None:
    """Return at ``moment_ns`` or as soon after as the loop allows, never before."""
    while (left_ns := moment_ns - time.monotonic_ns()) > 0:
        coarse = left_ns > _COARSE_NS
        await asyncio.sleep((left_ns - _MARGIN_NS if coarse else left_ns) / _NS)
