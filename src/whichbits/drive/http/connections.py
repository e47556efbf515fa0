"""Connections that a request may take any of, opened before the clock starts and kept ready while it runs."""

import select
import socket
import ssl
import time
from collections.abc import Sequence

from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.http.wire import READABLE, WRITABLE, Address, Wire
from whichbits.drive.routing import Router
from whichbits.drive.target import Target

CONNECT_SECONDS = 10.0
"""A handshake that takes longer fails: the kernel's own patience, two minutes, would outlive most cells."""


class Connections:
    """Equivalent connections by lane; the one used last goes first, so that only the surplus grows old."""

    def __init__(self, targets: Sequence[Target], router: Router, epoll: select.epoll) -> None:
        self.wires: dict[int, Wire] = {}
        self._targets = targets
        self._router = router
        self._epoll = epoll
        self._idle: list[list[Wire]] = [[] for _ in range(router.lanes)]
        self._addresses: dict[tuple[str, int], list[Address]] = {}
        self._contexts: dict[str | None, ssl.SSLContext] = {}
        self._opened = 0
        self.opening = 0

    def resolve(self) -> None:
        """Look every target up, before the clock starts; what is not found is left for the requests to report."""
        for target in self._targets:
            try:
                self._addresses_of(target)
            except OSError:
                continue

    def take(self, lane: int) -> Wire | None:
        """Return an idle connection that is ready, or None."""
        idle = self._idle[lane]
        while idle:
            wire = idle.pop()
            if wire.usable:
                return wire
            self.discard(wire)
        return None

    def give(self, wire: Wire) -> None:
        """Take a connection back after its exchange, or when it is newly open."""
        if wire.usable and wire.unsent is None:
            self._idle[wire.lane].append(wire)
        else:
            self.discard(wire)

    def open(self, lane: int, waiting: Exchange | None = None) -> Wire:
        """Begin to open a connection, for a request that waits for it or for none.

        The request learns which replica it is, whether or not the connection opens.

        Raises:
            OSError: it is known at once that it cannot be opened.
        """
        target = self._targets[self._router.target(lane)]
        if waiting is not None:
            waiting.replica, waiting.secret = target.replica, target.api_key
        addresses = iter(self._addresses_of(target))
        wire = Wire(self._opened, lane, target, addresses, self._tls_for(target))
        self._opened += 1
        wire.exchange, wire.began_ns = waiting, time.monotonic_ns()
        self.opening += 1
        self._dial(wire)
        return wire

    def advance(self, wire: Wire) -> bool:
        """Take an opening a step further; return whether it is open now.

        Raises:
            OSError: no address of the target took the connection; it is forgotten.
        """
        try:
            awaited = wire.advance()
        except OSError as error:
            self._hang_up(wire)
            self._dial(wire, error)
            return False
        self._epoll.modify(wire.fd, awaited or READABLE)
        self.opening -= wire.is_open
        return wire.is_open

    def await_room(self, wire: Wire) -> None:
        """Have epoll tell when the kernel takes more of a request, or no longer."""
        self._epoll.modify(wire.fd, READABLE if wire.unsent is None else READABLE | WRITABLE)

    def forget_idle(self, wire: Wire) -> None:
        """Close an idle connection of which the server wants nothing more."""
        if wire in self._idle[wire.lane]:
            self._idle[wire.lane].remove(wire)
        self.discard(wire)

    def discard(self, wire: Wire) -> None:
        """Close a connection that is not idle."""
        if wire.is_closed:
            return
        self.wires.pop(wire.fd, None)
        self.opening -= not wire.is_open
        wire.close()

    def sort_idle(self) -> None:
        """Order by opening, not by arrival: which connection comes first must not depend on a race."""
        for idle in self._idle:
            idle.sort(key=lambda wire: wire.number)

    def close(self) -> None:
        """Close every connection."""
        for wire in tuple(self.wires.values()):
            self.discard(wire)

    def _dial(self, wire: Wire, failure: OSError | None = None) -> None:
        """Try the addresses that are left, in order; raise the last failure if none can be tried."""
        while True:
            try:
                wire.dial()
            except StopIteration:
                self.discard(wire)
                raise failure or OSError(f"{wire.target.host} has no address") from None
            except OSError as error:
                failure = error
                wire.shut()
            else:
                self.wires[wire.fd] = wire
                self._epoll.register(wire.fd, WRITABLE)
                return

    def _hang_up(self, wire: Wire) -> None:
        self.wires.pop(wire.fd, None)
        wire.shut()

    def _addresses_of(self, target: Target) -> list[Address]:
        key = (target.host, target.port)
        if key not in self._addresses:
            found = socket.getaddrinfo(*key, type=socket.SOCK_STREAM)
            self._addresses[key] = [Address(family, sockaddr) for family, _, _, _, sockaddr in found]
        return self._addresses[key]

    def _tls_for(self, target: Target) -> ssl.SSLContext | None:
        if not target.tls:
            return None
        if target.ca_file not in self._contexts:
            self._contexts[target.ca_file] = ssl.create_default_context(cafile=target.ca_file)
        return self._contexts[target.ca_file]
