"""Waiting for a moment."""

import asyncio
import time

import uvloop

from whichbits.drive.sending.until import until


def test_no_request_leaves_before_its_moment() -> None:
    """Neither loop's timer rounding may send early."""

    async def main() -> None:
        for wait_ns in (0, 100_000, 900_000, 1_600_000, 5_300_000):
            moment_ns = time.monotonic_ns() + wait_ns
            await until(moment_ns)
            assert time.monotonic_ns() >= moment_ns

    asyncio.run(main())
    uvloop.run(main())
