"""A small process of ours beside the load loop: told by JSON lines, ended by the end of its input."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

import msgspec

_END_SECONDS = 2.0


async def started(program: str) -> Process:
    """Start the file ``program``, standard library only; its output and errors can be read."""
    return await asyncio.create_subprocess_exec(
        # By path and isolated, with a session of its own: Ctrl-C in a terminal is for us to obey.
        *(sys.executable, "-I", "-S", program),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )


async def tell(process: Process | None, order: dict[str, object]) -> None:
    """Give an order. That the process has died, or was never started, shows in its answer only."""
    if process is not None and process.stdin is not None:
        # uvloop calls writing to a closed pipe a RuntimeError.
        with suppress(ConnectionError, RuntimeError):
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            await process.stdin.drain()


async def end(process: Process | None) -> None:
    """Let the process finish, and kill it if it does not."""
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
