"""HTTP framing: an answer is the same however the network cuts it."""

import asyncio
import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichbits.drive.connection import Connection, Patience
from whichbits.drive.exchange import Exchange

BODY = b"data: one\n\ndata: [DONE]\n\n"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x;ext=1\r\n%s\r\n4\r\ntail\r\n0\r\nX-Trailer: 1\r\n\r\n"
)
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
ANSWERS = {
    "chunked": (CHUNKED % (len(BODY), BODY), BODY + b"tail"),
    "content-length": (LENGTH % (len(BODY), BODY), BODY),
    "empty": (LENGTH % (0, b""), b""),
}


class Wire(asyncio.Transport):
    """A transport that goes nowhere."""

    def __init__(self, wire: socket.socket) -> None:
        super().__init__({"socket": wire})
        self.sent = b""
        self.closing = False

    def write(self, data: Any) -> None:
        self.sent += data

    def abort(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing


@contextmanager
def wired() -> Iterator[tuple[Connection, Wire, socket.socket]]:
    """A connection, its transport, and the server's end of the socket."""
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    theirs, _ = listener.accept()
    with listener, ours, theirs:
        connection, wire = Connection(lambda _lost: None), Wire(ours)
        connection.connection_made(wire)
        yield connection, wire, theirs


async def receive(connection: Connection, parts: list[bytes]) -> Exchange:
    exchange = Exchange(0, None, 1, scheduled_ns=0, due_ns=0)
    conversation = asyncio.ensure_future(connection.converse(b"POST", exchange, Patience(10**11, 10**11)))
    await asyncio.sleep(0)
    for part in parts:
        connection.data_received(part)
    await conversation
    return exchange


@pytest.mark.parametrize("framing", ANSWERS)
def test_one_cut_anywhere_changes_nothing(framing: str) -> None:
    """At every byte boundary, over one kept-alive connection."""
    answer, body = ANSWERS[framing]

    async def main() -> None:
        with wired() as (connection, _, _):
            for cut in range(1, len(answer)):
                exchange = await receive(connection, [answer[:cut], answer[cut:]])
                assert b"".join(exchange.pieces) == body
                assert exchange.complete
                assert exchange.status == 200
                assert connection.usable

    asyncio.run(main())


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(1, len(ANSWERS["chunked"][0]) - 1)))
def test_any_number_of_cuts_changes_nothing(cuts: set[int]) -> None:
    """Pieces join to the body, and each has the stamp of a read, in order."""
    answer, body = ANSWERS["chunked"]
    edges = [0, *sorted(cuts), len(answer)]

    async def main() -> None:
        with wired() as (connection, _, _):
            parts = [answer[start:end] for start, end in itertools.pairwise(edges)]
            exchange = await receive(connection, parts)
            assert b"".join(exchange.pieces) == body
            assert exchange.stamps == sorted(exchange.stamps)
            assert len(exchange.stamps) == len(exchange.pieces)

    asyncio.run(main())


def test_a_closing_answer_ends_the_connection() -> None:
    """``Connection: close`` and HTTP/1.0 are not reused."""

    async def main() -> None:
        for head in (b"HTTP/1.1 200 OK\r\nConnection: close", b"HTTP/1.0 200 OK"):
            with wired() as (connection, _, _):
                exchange = await receive(connection, [head + b"\r\nContent-Length: 1\r\n\r\nx"])
                assert exchange.complete
                assert not connection.usable

    asyncio.run(main())


def test_an_idle_connection_that_the_server_closed_is_not_usable() -> None:
    """The kernel knows it before the loop does."""

    async def main() -> None:
        with wired() as (connection, _, theirs):
            assert connection.usable
            theirs.close()
            assert not connection.usable

    asyncio.run(main())


def test_words_without_a_request_end_the_connection() -> None:
    """They could otherwise be taken for the next request's answer."""

    async def main() -> None:
        with wired() as (connection, wire, _):
            connection.data_received(LENGTH % (1, b"x"))
            assert wire.closing
            assert not connection.usable

    asyncio.run(main())


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, and the request fails with a reason."""
    monkeypatch.setattr("whichbits.drive.connection.LONGEST_BODY", 10)

    async def main() -> None:
        with wired() as (connection, _, _):
            exchange = await receive(connection, [LENGTH % (1000, b"x" * 11)])
            assert exchange.failure is not None
            assert exchange.failure.code == "bad_stream"

    asyncio.run(main())
