"""Engines' profilers: where they are switched on and off, and a replica's profiler while a window is taken."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from whichbits.serve.endpoint.control import ControlClient

_WRITING_SECONDS = 600.0
"""A trace of some seconds on a fast GPU is hundreds of MB of JSON, which the engine writes before it answers."""


@dataclass(frozen=True)
class ProfilerPaths:
    """Paths that take a POST."""

    start: str
    stop: str


PROFILERS: Mapping[str, ProfilerPaths] = {"vllm": ProfilerPaths("/start_profile", "/stop_profile")}
"""By engine, of those that whichbits can start with a profiler."""


@asynccontextmanager
async def profiling(url: str, paths: ProfilerPaths) -> AsyncIterator[None]:
    """Profile the server at ``url`` while the block runs; when it ends, the trace is written.

    Raises:
        ServerNotReady: it refuses, or does not answer.
    """
    async with ControlClient(url, timeout_seconds=_WRITING_SECONDS) as control:
        await control.command(paths.start)
        try:
            yield
        except asyncio.CancelledError:
            # The study ends here, and its server with it: nobody waits for a trace.
            raise
        except BaseException:
            await control.command(paths.stop)
            raise
        await control.command(paths.stop)
