"""Wait until a server answers, and say what its log says if it never will."""

import asyncio
import re
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from whichbits.errors import ServerNotReady
from whichbits.serve.process import ServerProcess

if TYPE_CHECKING:
    from aiohttp import ClientSession

_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 0.5
_PROBE_SECONDS = 5.0
_QUOTED_LINES = 5
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_KILLED = 128 + 9


async def wait_until_ready(
    server: ServerProcess, url: str, *, within_seconds: float, failure: Callable[[str], str | None]
) -> float:
    """Return the seconds from the server's start until ``url``/health said 200.

    Raises ServerNotReady if the server died, quoting the cause that ``failure`` finds in its log or else the
    log's last lines, and if it was not ready ``within_seconds`` after its start.
    """
    from aiohttp import ClientSession, ClientTimeout

    pause = _FIRST_PAUSE_SECONDS
    async with ClientSession(timeout=ClientTimeout(total=_PROBE_SECONDS)) as session:
        while not await _is_healthy(session, url):
            if server.returncode is not None:
                raise died(server, failure, "before it was ready")
            if _seconds_since_start(server) > within_seconds:
                raise _too_slow(server, within_seconds)
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, _LONGEST_PAUSE_SECONDS)
    return _seconds_since_start(server)


def last_lines(log_text: str, count: int) -> tuple[str, ...]:
    """Return the last ``count`` lines with words, without colours; of a progress bar its last state."""
    states = (line.rstrip().rpartition("\r")[2] for line in _COLOUR.sub("", log_text).split("\n"))
    return tuple(state.strip() for state in states if any(map(str.isalnum, state)))[-count:]


async def _is_healthy(session: "ClientSession", url: str) -> bool:
    from aiohttp import ClientError

    try:
        async with session.get(f"{url}/health") as answer:
            return answer.status == HTTPStatus.OK
    except (ClientError, TimeoutError):
        return False


def _seconds_since_start(server: ServerProcess) -> float:
    return (time.monotonic_ns() - server.started_ns) / 1e9


def died(server: ServerProcess, failure: Callable[[str], str | None], when: str) -> ServerNotReady:
    """Return the error for a server that has ended: its log's own cause, or else the log's last lines."""
    log_text = server.log_text()
    cause = failure(log_text) or "\n    ".join(last_lines(log_text, _QUOTED_LINES))
    return ServerNotReady(
        "server_died",
        f"the server ended with {_meaning(server.returncode)} {when}",
        why=cause or "its log is empty",
        fix=f"read the whole log: {server.log}",
    )


def _meaning(code: int | None) -> str:
    if code == _KILLED:
        return "SIGKILL (often the kernel, out of memory)"
    return f"exit code {code}"


def _too_slow(server: ServerProcess, within_seconds: float) -> ServerNotReady:
    last = last_lines(server.log_text(), 1)
    return ServerNotReady(
        "server_too_slow",
        f"the server was not ready within {within_seconds:g} s",
        why=f"the last it said was: {last[0]}" if last else "it said nothing at all",
        fix=f"raise limits.ready_seconds if it was still loading; its log: {server.log}",
    )
