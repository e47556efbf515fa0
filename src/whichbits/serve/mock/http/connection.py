"""One connection of a mock: requests in, one at a time, and bytes out without ever waiting."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.faults import Faults
from whichbits.serve.mock.http.pages import answer_at_once, refusal
from whichbits.serve.mock.messages.answers import HEAD
from whichbits.serve.mock.messages.asked import Refused, Wire, read_body, read_wire
from whichbits.serve.mock.messages.stream import Stream

_READ_BYTES = 262_144
_COMPLETIONS = ("/v1/completions", "/v1/chat/completions")
_RETRY = (429, 503)
_WRITE_BYTES = 65_536
_PIECES = 8
_MS = 1_000_000
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class Loop(Protocol):
    """What a connection needs of the loop that serves it."""

    def watch_writes(self, connection: "Connection", wanted: bool) -> None:
        """Call ``flush`` when the kernel takes bytes again, or no longer."""
        ...

    def later(self, at_ns: int, errand: Callable[[], None]) -> None:
        """Call once at a monotonic time."""
        ...

    def forget(self, connection: "Connection") -> None:
        """Serve it no longer; it is closed right after."""
        ...


class Connection:
    """A client's connection."""

    def __init__(self, wire: socket.socket, desk: Desk, loop: Loop) -> None:
        self.wire = wire
        self.descriptor = wire.fileno()
        self._closed = False
        self._send = wire.send
        self._desk = desk
        self._loop = loop
        self._inbox = bytearray()
        self._outbox = bytearray()
        self._stream: Stream | None = None
        self._dribbles = False
        self._last = False
        self._leaves = False

    def read(self) -> None:
        """Take what has arrived, and answer requests that are complete."""
        try:
            data = self.wire.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._inbox += data
        self._serve()

    def write(self, data: bytes) -> None:
        """Send now what the kernel takes, and the rest when it takes more."""
        if self._outbox or self._dribbles:
            self._outbox += data
            return
        try:
            sent = self._send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return
        if sent != len(data):
            self._outbox += data[sent:]
            self._loop.watch_writes(self, True)

    def flush(self) -> None:
        """Send as much as the kernel takes of what was held back."""
        try:
            while self._outbox:
                del self._outbox[: self._send(bytes(self._outbox[:_WRITE_BYTES]))]
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        self._loop.watch_writes(self, False)
        if self._leaves:
            self.close()

    def answered(self, stream: Stream) -> None:
        """Close if the answer was to be cut there; else go on with the next request."""
        self._stream = None
        if stream.answer.ending == "reset":
            self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        if stream.answer.ending != "keep" or self._last:
            self._leave()
        elif self._inbox:
            self._serve()

    def close(self) -> None:
        """Close, and let go of an answer under way; may be called again."""
        if self._closed:
            return
        self._closed = True
        self._loop.forget(self)
        self.wire.close()
        if self._stream is not None:
            self._desk.left(self._stream)

    def _leave(self) -> None:
        """Close as soon as everything is sent."""
        self._leaves = True
        if not self._outbox and not self._dribbles:
            self.close()

    def _serve(self) -> None:
        """Answer the requests in the inbox; a stream lets the next one wait until it is over."""
        while self._stream is None and not self._closed and not self._leaves and (wire := self._next()) is not None:
            del self._inbox[: wire.length]
            self._last = wire.headers.get("connection", "").lower() == "close"
            self._answer(wire)
            if self._last and self._stream is None:
                self._leave()

    def _next(self) -> Wire | None:
        try:
            return read_wire(self._inbox)
        except Refused as error:
            self.write(refusal(error))
            self._leave()
            return None

    def _answer(self, wire: Wire) -> None:
        try:
            if wire.method == "POST" and wire.path in _COMPLETIONS:
                self._begin(wire)
            else:
                self.write(answer_at_once(self._desk, wire))
        except Refused as error:
            self.write(refusal(error, retry_after=error.status in _RETRY))

    def _begin(self, wire: Wire) -> None:
        number, faults = self._desk.number()
        body = read_body(wire.body)
        status = faults.get("status")
        if status is not None:
            raise Refused(status, "the mock was told to refuse")
        self._stream = stream = self._desk.take(self, number, faults, wire, body)
        if body.stream:
            self._open(stream, faults)
        self._desk.admit()

    def _open(self, stream: Stream, faults: Faults) -> None:
        """Send the head at once, as engines do before the first token; in pieces if so ordered."""
        head = HEAD % _header_text(stream).encode() + stream.answer.early
        slow_ms = faults.get("slow_headers")
        if slow_ms is None:
            self.write(head)
        else:
            self._dribbles = True
            self._dribble(_pieces(head), slow_ms * _MS // _PIECES, time.monotonic_ns())

    def _dribble(self, pieces: list[bytes], pause_ns: int, now_ns: int) -> None:
        """Send a piece of the head now and the others later; the answer waits behind them."""
        if self._closed:
            return
        if pieces:
            with suppress(OSError):  # who has left is noticed where its connection is read
                self._send(pieces[0])
            due_ns = now_ns + pause_ns
            self._loop.later(due_ns, lambda: self._dribble(pieces[1:], pause_ns, due_ns))
            return
        self._dribbles = False
        if self._outbox:
            self._loop.watch_writes(self, True)
        elif self._leaves:
            self.close()


def _header_text(stream: Stream) -> str:
    """Return the request's name if a header can hold it, else its number."""
    name = stream.request_id
    return name if name and name.isascii() and name.isprintable() else str(stream.number)


def _pieces(head: bytes) -> list[bytes]:
    size = len(head) // _PIECES + 1
    return [head[start : start + size] for start in range(0, len(head), size)]
