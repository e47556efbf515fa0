"""Wait until a server answers, and say what its log says if it never will."""

import asyncio
import errno
import re
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from whichbits.errors import ServerNotReady
from whichbits.serve.endpoint.way import DIRECT, Way
from whichbits.serve.process.ending import ending
from whichbits.serve.process.server import ServerProcess
from whichbits.serve.seen_from import seen_from_here
from whichbits.study.address import without_credentials

if TYPE_CHECKING:
    from aiohttp import ClientSession

_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 0.5
_PROBE_SECONDS = 5.0
_QUOTED_LINES = 3
_CHATTER = re.compile(
    r"throughput: \d|#running-req|Running: \d+ reqs|\b(?:GET|POST) /\S* HTTP/|^slot |^srv  |loggers?\.py|Logging stat"
)
"""Statistics and single requests, which servers go on logging whatever happens."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REFUSALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PATIENCE_SECONDS = 10.0
"""A port closes, or an engine dies, moments before its process is gone and its log complete."""


async def wait_until_ready(
    server: ServerProcess, url: str, *, within_seconds: float, failure: Callable[[str], str | None]
) -> float:
    """Return the seconds from the server's start until ``url`` said 200.

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


async def cause_of_death(
    server: ServerProcess, url: str, failure: Callable[[str], str | None]
) -> ServerNotReady | None:
    """Return why a server that was ready has ended or hangs; None if ``url`` still says 200."""
    patience = _seconds_since_start(server) + _PATIENCE_SECONDS
    try:
        await wait_until_ready(server, url, within_seconds=patience, failure=failure)
    except ServerNotReady as unhealthy:
        if server.returncode is not None:
            return died(server, failure, "while it was serving")
        return hangs(unhealthy.why, f"read its log: {seen_from_here(server.log)}")
    return None


async def wait_until_healthy(url: str, *, within_seconds: float) -> bool:
    """Ask ``url`` of a server that somebody else runs until it says 200; return whether it did in time."""
    return await why_unhealthy(url, within_seconds=within_seconds) is None


async def why_unhealthy(
    url: str, *, within_seconds: float, api_key: str | None = None, way: Way = DIRECT
) -> str | None:
    """Ask ``url`` of a server that somebody else runs until it says 200; return None, or why it did not in time.

    What time will not mend ends the wait at once: a redirect, which the traffic would not follow, a key that is
    refused, a certificate that is not trusted.
    """
    from aiohttp import ClientTimeout

    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    deadline = time.monotonic() + within_seconds
    async with way.session(timeout=ClientTimeout(total=_PROBE_SECONDS), headers=headers) as session:
        while (obstacle := await _obstacle(session, url)) is not None:
            if obstacle.lasting or time.monotonic() > deadline:
                return obstacle.words
            await asyncio.sleep(_LONGEST_PAUSE_SECONDS)
    return None


def hangs(why: str, fix: str) -> ServerNotReady:
    """Return the error for a server that runs, or at least is not known to have ended, and does not answer."""
    return ServerNotReady("server_hangs", "the server no longer answers its health check", why=why, fix=fix)


def last_lines(log_text: str, count: int) -> tuple[str, ...]:
    """Return the last ``count`` lines with words, without colours; of a progress bar its last state."""
    states = (line.rstrip().rpartition("\r")[2] for line in _COLOUR.sub("", log_text).split("\n"))
    return tuple(state.strip() for state in states if any(map(str.isalnum, state)))[-count:]


class _Obstacle(NamedTuple):
    words: str
    lasting: bool = False


async def _obstacle(session: "ClientSession", url: str) -> _Obstacle | None:
    from aiohttp import ClientError

    try:
        async with session.get(url, allow_redirects=False) as answer:
            return _answered(answer.status, answer.headers.get("Location"), urlsplit(url).path)
    except (ClientError, TimeoutError) as error:
        return _unanswered(error)


def _unanswered(error: Exception) -> _Obstacle:  # noqa: PLR0911 - a line a step
    """Say at which step a connection failed: name, port, TLS, or the first bytes of an answer."""
    from aiohttp import (
        ClientConnectorDNSError,
        ClientConnectorError,
        ClientHttpProxyError,
        ClientOSError,
        ClientResponseError,
        ClientSSLError,
        ServerDisconnectedError,
    )

    match error:
        case ClientSSLError() if "WRONG_VERSION_NUMBER" in str(error) or "RECORD_LAYER" in str(error):
            return _Obstacle(f"it does not speak TLS: write http:// ({error})", lasting=True)
        case ClientSSLError():
            return _Obstacle(f"no TLS connection can be trusted: {error}", lasting=True)
        case ClientConnectorDNSError():
            return _Obstacle(f"no host of this name is known: {error}")
        case ClientConnectorError(os_error=ConnectionRefusedError()):
            return _Obstacle(f"connection refused: nothing listens at this port ({error})")
        case TimeoutError():
            return _Obstacle(
                f"no answer within {_PROBE_SECONDS:g} s: it hangs, or something between here and there drops packets"
            )
        case ClientHttpProxyError():
            return _Obstacle(f"the proxy answered {error.status}: {error.message}", lasting=True)
        case ClientResponseError():
            return _Obstacle(f"what answers is not HTTP: is it https://? ({error.message})")
        case ServerDisconnectedError() | ClientOSError(errno=errno.ECONNRESET):
            return _Obstacle("it closes the connection without an answer: is it https://?")
        case _:
            return _Obstacle(without_credentials(str(error)) or type(error).__name__)


def _answered(status: int, location: str | None, path: str) -> _Obstacle | None:
    if status == HTTPStatus.OK:
        return None
    if status in _REDIRECTS:
        return _Obstacle(f"it answers {status} and redirects to {location}, which requests do not follow", lasting=True)
    if status in _REFUSALS:
        return _Obstacle(f"it answers {status}: the API key is missing or wrong", lasting=True)
    if status == HTTPStatus.NOT_FOUND:
        return _Obstacle(f"it answers, but 404 at {path}: is it another engine, or does it live under a prefix?")
    return _Obstacle(f"it answers {status}")


async def _is_healthy(session: "ClientSession", url: str) -> bool:
    from aiohttp import ClientError

    try:
        async with session.get(url) as answer:
            return answer.status == HTTPStatus.OK
    except (ClientError, TimeoutError):
        return False


def _seconds_since_start(server: ServerProcess) -> float:
    return (time.monotonic_ns() - server.started_ns) / 1e9


def died(server: ServerProcess, failure: Callable[[str], str | None], when: str) -> ServerNotReady:
    """Return the error for a server that has ended: its log's own cause, or else the log's last lines."""
    log_text = server.log_text()
    said = "\n".join(line for line in log_text.split("\n") if not _CHATTER.search(line))
    cause = failure(log_text) or "\n    ".join(last_lines(said, _QUOTED_LINES))
    return ServerNotReady(
        "server_died",
        f"the server ended with {ending(server.returncode)} {when}",
        why=cause or ("its log holds statistics only" if log_text.strip() else "its log is empty"),
        fix=f"read the whole log: {seen_from_here(server.log)}",
    )


def _too_slow(server: ServerProcess, within_seconds: float) -> ServerNotReady:
    last = last_lines(server.log_text(), 1)
    return ServerNotReady(
        "server_too_slow",
        f"the server was not ready within {within_seconds:g} s",
        why=f"the last it said was: {last[0]}" if last else "it said nothing at all",
        fix=f"raise limits.ready_seconds if it was still loading; its log: {seen_from_here(server.log)}",
    )
