"""One HTTP/1.1 connection: the thinnest reader that still knows where an answer ends.

``data_received`` stamps the read and lets llhttp find the body; what the body says is decoded after the
request. A request is never sent twice: once its bytes may have left, the server may have begun the work.
"""

import asyncio
import select
import socket
import time
from collections.abc import Callable
from typing import NamedTuple, Self, cast

import httptools

from whichbits.drive.exchange import Exchange
from whichbits.drive.failure import FailureCode
from whichbits.study.model import Limits

LONGEST_BODY = 64 * 2**20
"""Bytes of one answer that are kept: some 200,000 events, more than any answer worth timing."""

_NS = 1_000_000_000
# POLLRDHUP is Linux's; without it a close is noticed one turn of the loop later, through connection_lost.
_CLOSED_BY_PEER = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class Patience(NamedTuple):
    """How long an answer may take, and how long it may be silent; nanoseconds."""

    total_ns: int
    silence_ns: int

    @classmethod
    def of(cls, limits: Limits) -> Self:
        """Return the study's limits as nanoseconds."""
        return cls(round(limits.request_seconds * _NS), round(limits.silence_seconds * _NS))


class Connection(asyncio.Protocol):
    """A kept-alive connection that carries one exchange at a time."""

    def __init__(self, lost: Callable[["Connection"], None]) -> None:
        """``lost`` is called once, when the connection is gone."""
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.has_served = False
        self._poll = select.poll()
        self._reusable = True
        self._exchange: Exchange | None = None
        self._over: asyncio.Future[None] | None = None
        self._read_ns = 0
        self._sized = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make the connection ready to carry requests."""
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)
        wire = transport.get_extra_info("socket")
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._poll.register(wire.fileno(), _CLOSED_BY_PEER)

    @property
    def usable(self) -> bool:
        """Whether a request may be sent; asks the kernel, since the loop may not have seen a close yet."""
        return self._reusable and not self._transport.is_closing() and not self._poll.poll(0)

    async def converse(self, request: bytes, exchange: Exchange, patience: Patience) -> None:
        """Send ``request`` and return when its answer is over, well or not; the exchange tells which.

        ``sent_ns`` is taken before the write: uvloop hands the bytes to the kernel at the end of the loop's
        turn, so the stamp errs towards a longer TTFT, never a shorter one.
        """
        if self.closed.done():
            exchange.fail("connection_lost", "the server closed the connection before the request was sent")
            return
        self.has_served = True
        self._exchange, self._over, self._sized = exchange, self._loop.create_future(), False
        exchange.sent_ns = self._read_ns = time.monotonic_ns()
        self._transport.write(request)
        self._watch(patience)
        try:
            await self._over
        finally:
            self._timer.cancel()
            self._exchange = None
            if not exchange.complete:
                self.abort()

    def abort(self) -> None:
        """Close at once, whatever is in flight."""
        self._reusable = False
        self._transport.abort()

    def _watch(self, patience: Patience) -> None:
        exchange, now = self._exchange, time.monotonic_ns()
        if exchange is None or exchange.sent_ns is None:
            return
        total_left = exchange.sent_ns + patience.total_ns - now
        silence_left = self._read_ns + patience.silence_ns - now
        if total_left <= 0:
            self._fail("timeout_total", f"no complete answer after {patience.total_ns / _NS:g} s")
        elif silence_left <= 0:
            self._fail("timeout_silence", f"nothing received for {patience.silence_ns / _NS:g} s")
        else:
            wait_s = min(total_left, silence_left) / _NS
            self._timer = self._loop.call_later(wait_s, self._watch, patience)

    def _fail(self, code: FailureCode, error: str) -> None:
        self._reusable = False
        if self._exchange is not None:
            self._exchange.fail(code, error)
        self._settle()

    def _settle(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    # asyncio's callbacks

    def data_received(self, data: bytes) -> None:
        """Stamp the read, then let the parser call ``on_*`` for what is in it."""
        self._read_ns = time.monotonic_ns()
        exchange = self._exchange
        if exchange is None:
            self.abort()
            return
        if exchange.first_byte_ns is None:
            exchange.first_byte_ns = self._read_ns
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail("bad_stream", f"not an HTTP/1.1 answer: {error}")
        if exchange.body_bytes > LONGEST_BODY:
            self._fail("bad_stream", f"the answer is longer than {LONGEST_BODY} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """End what was in flight; a body that has no length ends well by a clean close."""
        exchange = self._exchange
        if exchange is not None and exc is None and exchange.status is not None and not self._sized:
            exchange.finish(self._read_ns)
        self._fail("connection_lost", str(exc) if exc is not None else "the server closed the connection")
        # The parser and the connection refer to each other, and the collector is off during a cell.
        del self._parser
        self.closed.set_result(None)
        self._lost(self)

    # httptools' callbacks

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._exchange is None or self._exchange.complete:
            self._reusable = False
            raise httptools.HttpParserError("data after the end of the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note whether the body says where it ends, and what a verdict needs."""
        if self._exchange is not None:
            self._exchange.note_header(name, value)
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._sized = True

    def on_headers_complete(self) -> None:
        """Keep the status of the final answer; 1xx answers only announce it."""
        status = self._parser.get_status_code()
        if self._exchange is not None and status >= 200:
            self._exchange.status = status

    def on_body(self, body: bytes) -> None:
        """Log body data under the stamp of its read."""
        exchange = self._exchange
        if exchange is not None:
            exchange.stamps.append(self._read_ns)
            exchange.pieces.append(body)
            exchange.body_bytes += len(body)

    def on_message_complete(self) -> None:
        """End the exchange at the read that completed it."""
        if self._exchange is not None and self._exchange.status is not None:
            self._reusable = self._parser.should_keep_alive()
            self._exchange.finish(self._read_ns)
            self._settle()
