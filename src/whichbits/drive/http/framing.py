"""Where an HTTP/1.1 answer ends, and which bytes of its reads are body."""

import httptools

from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.reader import HTTP_OK, Answer, AnswerReader

LONGEST_ANSWER = 64 * 2**20
"""Bytes of one answer that are read: some 200,000 events, more than any answer worth timing."""
LONGEST_HEAD = 64 * 2**10
"""Bytes before a body, interim answers included; servers themselves accept 8 to 64 KiB."""

_FINAL_STATUS = 200
_LONGEST_SIZE = 10  # digits and line end of a chunk that one read can hold


class Framing:
    """Takes a connection's reads, and knows when the answer to the current exchange is whole.

    ``may_wait`` says that a read which ends like the middle of an answer need not be fed at once: its body comes in
    HTTP chunks, so only a read that ends like the last chunk can be the last.
    """

    def __init__(self) -> None:
        self._bodies: list[bytes] = []
        self.on_body = self._bodies.append  # llhttp calls it for nearly every read, so there is no frame of ours
        self._parser = httptools.HttpResponseParser(self)
        self._exchange: Exchange | None = None
        self._reader: AnswerReader | None = None
        self._between_chunks = False
        self.may_wait = False
        self.reusable = True
        self.pieces = 0

    def begin(self, exchange: Exchange) -> None:
        """Expect the answer to ``exchange``, which is being sent."""
        self._exchange = exchange
        self._reader = None
        self._sized = False
        self._chunked = False
        self._in_chunk = False
        self._answer_bytes = 0
        self._last_ns = exchange.sent_ns or 0

    def feed(self, data: bytes, stamp_ns: int, waited_ns: int) -> None:
        """Take one read; an exchange that ended, well or not, says so itself."""
        reader = self._reader
        if self._between_chunks and reader is not None and (body := _only_chunk(data)) is not None:
            # The parser stands between two chunks, and need not know of a whole one.
            if stamp_ns > self._last_ns:  # noqa: PLR1730 - a call less for nearly every token
                self._last_ns = stamp_ns
            self._answer_bytes += len(data)
            self.pieces += 1
            reader.feed(body, self._last_ns, waited_ns)
            if self._answer_bytes > LONGEST_ANSWER:
                self._bound()
            return
        exchange = self._exchange
        if exchange is None or exchange.finished_ns is not None:
            self.reusable = False  # words without a request could be taken for the next one's answer
            return
        self._last_ns = stamp_ns = max(stamp_ns, self._last_ns)
        if exchange.first_byte_ns is None:
            exchange.first_byte_ns = stamp_ns
        self._answer_bytes += len(data)
        self._parse(data, exchange)
        self._between_chunks = self.may_wait and not self._in_chunk and data.endswith(b"\r\n")
        if self._bodies:
            self._read_bodies(stamp_ns, waited_ns)
        self._bound()

    def hang_up(self) -> None:
        """Learn that the server closed in order: so ends, well, a body that has no length."""
        if self._exchange is not None and self._exchange.status is not None and not self._sized:
            self._exchange.finish(self._last_ns)

    def end(self) -> Answer:
        """Return what was read of the answer and forget it."""
        reader, self._reader, self._exchange = self._reader, None, None
        self.may_wait = self._between_chunks = False
        return reader.end() if reader is not None else Answer()

    def close(self) -> None:
        """Break the circle of the parser and this, since the collector is off during a cell."""
        self.reusable = False
        del self._parser

    def _parse(self, data: bytes, exchange: Exchange) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.reusable = False
            exchange.fail("bad_stream", f"not an HTTP/1.1 answer: {error}")

    def _read_bodies(self, stamp_ns: int, waited_ns: int) -> None:
        reader = self._reader
        if reader is not None:
            self.pieces += len(self._bodies)
            for body in self._bodies:
                reader.feed(body, stamp_ns, waited_ns)
        self._bodies.clear()

    def _bound(self) -> None:
        if self._exchange is None:
            return
        if self._reader is None and self._answer_bytes > LONGEST_HEAD:
            self._give_up(self._exchange, f"more than {LONGEST_HEAD} bytes before a body")
        elif self._answer_bytes > LONGEST_ANSWER:
            self._give_up(self._exchange, f"the answer is longer than {LONGEST_ANSWER} bytes")

    def _give_up(self, exchange: Exchange, why: str) -> None:
        self.reusable = self._between_chunks = False
        exchange.fail("bad_stream", why)

    # httptools' callbacks

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._exchange is None or self._exchange.complete:
            self.reusable = False
            raise httptools.HttpParserError("data after the end of the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note whether the body says where it ends, and what a verdict needs."""
        if self._exchange is not None:
            self._exchange.note_header(name, value)
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self._sized = True
            self._chunked = self._chunked or (name == b"transfer-encoding" and b"chunked" in value.lower())

    def on_headers_complete(self) -> None:
        """Keep the status of the final answer; 1xx answers only announce it."""
        exchange, status = self._exchange, self._parser.get_status_code()
        if exchange is not None and status >= _FINAL_STATUS:
            exchange.status = status
            is_stream = status == HTTP_OK
            self._reader = AnswerReader(is_stream=is_stream, keeps_text=exchange.keeps_text, compact=True)
            self.may_wait = self._chunked

    def on_chunk_header(self) -> None:
        self._in_chunk = True

    def on_chunk_complete(self) -> None:
        self._in_chunk = False

    def on_message_complete(self) -> None:
        """End the exchange at the read that completed it."""
        if self._exchange is not None and self._exchange.status is not None:
            self.may_wait = False
            self.reusable = self.reusable and self._parser.should_keep_alive()
            self._exchange.finish(self._last_ns)


def _only_chunk(data: bytes) -> bytes | None:
    """Return the body of ``data`` if that is one whole HTTP chunk and not the last, as nearly every read is."""
    size_end = data.find(b"\r\n", 0, _LONGEST_SIZE)
    if size_end < 1 or not data.endswith(b"\r\n"):
        return None
    try:
        size = int(data[:size_end], 16)
    except ValueError:
        return None
    return data[size_end + 2 : -2] if size and size_end + 2 + size + 2 == len(data) else None
