"""A connection never waits: what the kernel does not take is kept in order and sent when it does."""

import socket
from collections.abc import Callable

from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.http.connection import Connection
from whichbits.serve.mock.settings import MockSettings


class Loop:
    """Notes what a connection asks of its loop."""

    def __init__(self) -> None:
        self._wanted = False
        self._forgotten = False

    def wanted(self) -> bool:
        return self._wanted

    def forgotten(self) -> bool:
        return self._forgotten

    def watch_writes(self, connection: Connection, wanted: bool) -> None:
        self._wanted = wanted

    def later(self, at_ns: int, errand: Callable[[], None]) -> None:
        raise AssertionError

    def forget(self, connection: Connection) -> None:
        self._forgotten = True


def connected() -> tuple[Connection, Loop, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    loop = Loop()
    return Connection(ours, Desk(MockSettings()), loop), loop, theirs


def test_what_a_slow_reader_does_not_take_is_kept_in_order() -> None:
    connection, loop, reader = connected()
    sent = [bytes([place]) * 100_000 for place in range(40)]
    with reader:
        for data in sent:
            connection.write(data)
        assert loop.wanted()

        read = b""
        while loop.wanted():
            read += reader.recv(65_536)
            connection.flush()
        while len(read) < 4_000_000:
            read += reader.recv(65_536)

    assert read == b"".join(sent)
    connection.close()


def test_a_connection_that_is_to_close_closes_behind_what_it_still_holds() -> None:
    connection, loop, reader = connected()
    with reader:
        connection.write(b"x" * 2_000_000)
        reader.send(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
        connection.read()
        assert not loop.forgotten()

        read = 0
        while not loop.forgotten():
            read += len(reader.recv(65_536))
            connection.flush()
        while data := reader.recv(65_536):
            read += len(data)

    assert read > 2_000_000


def test_a_reader_that_has_gone_closes_the_connection() -> None:
    connection, loop, reader = connected()
    reader.close()
    connection.write(b"x")

    assert loop.forgotten()
