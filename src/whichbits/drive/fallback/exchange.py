"""One request by aiohttp: for servers behind an HTTP proxy, which the own transport does not speak to."""

import ssl
import time
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Self

from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.failure import FailureCode
from whichbits.drive.request_body import headers
from whichbits.drive.target import Target
from whichbits.study.address import without_credentials
from whichbits.study.model import Limits

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, ClientTimeout, TraceConfig

CONNECT_SECONDS = 10.0
READ_BUFFER_BYTES = 4 * 2**20
"""A full buffer makes aiohttp stop reading: the client's own brake would be taken for a slow server."""
LONGEST_BODY = 64 * 2**20


class FallbackSession:
    """Connections to targets, kept for the next request; an async context manager.

    None is opened before the clock starts. A handshake, of the proxy included, lies between schedule and send, and
    ``connect_ns`` tells it.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._trusted: dict[str | None, ssl.SSLContext] = {}

    async def __aenter__(self) -> Self:
        from aiohttp import ClientSession, DummyCookieJar, TCPConnector

        self._session: ClientSession = ClientSession(
            connector=TCPConnector(limit=0),
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
            cookie_jar=DummyCookieJar(),
            trace_configs=[_stamping()],
            timeout=self._patience(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def converse(self, target: Target, content: bytes, exchange: Exchange) -> None:
        """Send ``content`` and return when its answer is over, well or not; the exchange tells which."""
        from aiohttp import ClientError

        exchange.replica, exchange.secret = target.replica, target.api_key
        try:
            async with self._session.post(
                f"{'https' if target.tls else 'http'}://{target.authority}{target.path}",
                data=content,
                headers=headers(target),
                proxy=target.proxy,
                ssl=self._context(target) if target.tls else True,
                allow_redirects=False,
                trace_request_ctx=exchange,
            ) as answer:
                await _read(answer, exchange)
        except (ClientError, OSError) as error:
            exchange.fail(*self._failure(exchange, error))

    def _patience(self) -> "ClientTimeout":
        from aiohttp import ClientTimeout

        return ClientTimeout(
            total=self._limits.request_seconds,
            sock_read=self._limits.silence_seconds,
            sock_connect=CONNECT_SECONDS,
        )

    def _context(self, target: Target) -> ssl.SSLContext:
        if target.ca_file not in self._trusted:
            self._trusted[target.ca_file] = ssl.create_default_context(cafile=target.ca_file)
        return self._trusted[target.ca_file]

    def _failure(self, exchange: Exchange, error: Exception) -> tuple[FailureCode, str]:
        from aiohttp import ClientResponseError, SocketTimeoutError

        words = without_credentials(str(error)) or type(error).__name__
        if exchange.sent_ns is None:
            return "connect_failed", words
        match error:
            case SocketTimeoutError():
                return "timeout_silence", f"nothing received for {self._limits.silence_seconds:g} s"
            case TimeoutError():
                return "timeout_total", f"no complete answer after {self._limits.request_seconds:g} s"
            case ClientResponseError():
                return "bad_stream", f"not an HTTP/1.1 answer: {error.message}"
            case _:
                return "connection_lost", words


async def _read(answer: "ClientResponse", exchange: Exchange) -> None:
    exchange.status = answer.status
    exchange.first_byte_ns = time.monotonic_ns()
    for name, value in answer.raw_headers:
        exchange.note_header(name, value)
    async for piece, _ in answer.content.iter_chunks():
        exchange.stamps.append(time.monotonic_ns())
        exchange.pieces.append(piece)
        exchange.body_bytes += len(piece)
        if exchange.body_bytes > LONGEST_BODY:
            exchange.fail("bad_stream", f"the answer is longer than {LONGEST_BODY} bytes")
            answer.close()
            return
    exchange.finish(exchange.stamps[-1] if exchange.stamps else exchange.first_byte_ns)


def _stamping() -> "TraceConfig":
    """Return what lets an exchange know when its connection was ready, and how long that took if it was opened."""
    from aiohttp import TraceConfig

    async def begun(_session: "ClientSession", context: SimpleNamespace, _what: object) -> None:
        context.began_ns = time.monotonic_ns()

    async def opened(_session: "ClientSession", context: SimpleNamespace, _what: object) -> None:
        exchange: Exchange = context.trace_request_ctx
        exchange.sent_ns = time.monotonic_ns()
        exchange.connect_ns = exchange.sent_ns - context.began_ns

    async def reused(_session: "ClientSession", context: SimpleNamespace, _what: object) -> None:
        context.trace_request_ctx.sent_ns = time.monotonic_ns()

    trace: TraceConfig = TraceConfig()
    trace.on_connection_create_start.append(begun)
    trace.on_connection_create_end.append(opened)
    trace.on_connection_reuseconn.append(reused)
    return trace
