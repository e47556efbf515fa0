"""The mock's one thread: an epoll loop that sleeps until the next deadline to the microsecond."""

import ctypes
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush

from whichbits.hardware.open_files import raise_soft_limit
from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.http.connection import Connection

_BACKLOG = 4096
_ACCEPTED_AT_ONCE = 64
_LONGEST_SLEEP_SECONDS = 0.25
_PR_SET_TIMERSLACK = 29
_SLACK_NS = 1_000
"""Of 50,000 by default: the kernel may wake a sleeper so much later than asked."""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 lets the kernel choose. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    listener.setblocking(False)
    return listener


class MockServer:
    """Serves one listener until ``stop`` is called, from a signal handler for example."""

    def __init__(self, listener: socket.socket, desk: Desk) -> None:
        self._listener = listener
        self._desk = desk
        self._epoll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._wake, self._waker = socket.socketpair()
        self._stopped = False
        self._errands: list[tuple[int, int, Callable[[], None]]] = []
        self._errands_given = 0
        self._owner: int | None = None

    def stop(self) -> None:
        """Let ``run`` return soon; safe in a signal handler and in other threads."""
        self._stopped = True
        with suppress(OSError):
            self._waker.send(b"x")

    def stop_when_closed(self, descriptor: int) -> None:
        """Stop when the other end of a pipe is closed: whoever started the mock is gone then."""
        self._owner = descriptor

    def run(self) -> None:
        """Serve; every connection is closed when this returns."""
        _sleep_exactly()
        raise_soft_limit()  # each client takes a file
        self._epoll.register(self._listener.fileno(), select.EPOLLIN)
        self._epoll.register(self._wake.fileno(), select.EPOLLIN)
        if self._owner is not None:
            self._epoll.register(self._owner, select.EPOLLIN)
        try:
            self._turn()
        finally:
            for connection in [*self._connections.values()]:
                connection.close()
            for each in (self._listener, self._wake, self._waker, self._epoll):
                each.close()

    def _turn(self) -> None:
        clockwork = self._desk.clockwork
        # An epoll that has events is itself readable, and select, unlike epoll, sleeps by the microsecond.
        polled = [self._epoll.fileno()]
        while not self._stopped:
            ready, _, _ = select.select(polled, [], [], self._sleep_seconds())
            if ready:
                for descriptor, events in self._epoll.poll(0):
                    self._take(descriptor, events)
            clockwork.send_due()
            if self._errands:
                self._run_errands()

    def _sleep_seconds(self) -> float:
        due_ns = self._desk.clockwork.next_ns()
        if self._errands:
            due_ns = min(self._errands[0][0], due_ns or self._errands[0][0])
        if due_ns is None:
            return _LONGEST_SLEEP_SECONDS
        return min(max(0, due_ns - time.monotonic_ns()) / 1e9, _LONGEST_SLEEP_SECONDS)

    def _take(self, descriptor: int, events: int) -> None:
        connection = self._connections.get(descriptor)
        if connection is None:
            self._take_other(descriptor)
        elif events & select.EPOLLOUT:
            connection.flush()
        else:
            connection.read()

    def _take_other(self, descriptor: int) -> None:
        if descriptor == self._listener.fileno():
            self._accept()
        elif descriptor in (self._wake.fileno(), self._owner):
            self._stopped = True

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                wire, _ = self._listener.accept()
            except OSError:  # none is left, or it went again
                return
            wire.setblocking(False)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections[wire.fileno()] = Connection(wire, self._desk, self)
            self._epoll.register(wire.fileno(), select.EPOLLIN)

    def watch_writes(self, connection: Connection, wanted: bool) -> None:
        """Hear of a connection that the kernel takes bytes of again, or no longer."""
        self._epoll.modify(connection.descriptor, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))

    def later(self, at_ns: int, errand: Callable[[], None]) -> None:
        """Run an errand at a monotonic time."""
        self._errands_given += 1
        heappush(self._errands, (at_ns, self._errands_given, errand))

    def forget(self, connection: Connection) -> None:
        """Serve a connection no longer."""
        del self._connections[connection.descriptor]
        self._epoll.unregister(connection.descriptor)

    def _run_errands(self) -> None:
        while self._errands and self._errands[0][0] <= time.monotonic_ns():
            _, _, errand = heappop(self._errands)
            errand()


def _sleep_exactly() -> None:
    """Ask the kernel to wake this thread when it is asked to, not up to 50 us later; where it cannot, it is later."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _SLACK_NS, 0, 0, 0)
