"""Connections that a request may take any of, opened before the clock starts and kept ready while it runs."""

import asyncio
import ssl
import time
from collections.abc import Callable

from whichbits.drive.connection import Connection
from whichbits.drive.exchange import Exchange
from whichbits.drive.target import Target

CONNECT_SECONDS = 10.0
"""A handshake that takes longer fails: the kernel's own patience, two minutes, would outlive most cells."""

_AT_ONCE = 64  # below the listen backlog of common servers (asyncio 100, uvicorn 2048)


class ConnectionPool:
    """Equivalent connections; the one used last goes first, so that only the surplus grows old."""

    def __init__(self, next_target: Callable[[], Target]) -> None:
        """``next_target`` is asked once for each connection that is opened, in order."""
        self._next_target = next_target
        self._tls: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._open: dict[Connection, Target] = {}
        self._refills: set[asyncio.Task[None]] = set()
        self._closing = False

    async def warm(self, count: int) -> None:
        """Open up to ``count`` connections. A server that refuses is left for the requests to report."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(target: Target) -> Connection | None:
            async with gate:
                return await self._try_connect(target)

        async with asyncio.TaskGroup() as group:
            opening = [group.create_task(one(self._next_target())) for _ in range(count)]
        # In the order of opening, not of arrival: which connection comes first must not depend on a race.
        opened = [task.result() for task in opening]
        self._idle.extend(connection for connection in opened if connection is not None and connection.usable)

    async def acquire(self, exchange: Exchange) -> tuple[Connection, Target]:
        """Return a ready connection and where it leads, at once if one is idle; else open one and note the time.

        The exchange learns which replica it is, whether or not the connection opens.

        Raises:
            OSError: no connection could be opened (``TimeoutError`` included).
        """
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                target = self._open[connection]
                exchange.replica, exchange.secret = target.replica, target.api_key
                return connection, target
            connection.abort()
        began_ns = time.monotonic_ns()
        target = self._next_target()
        exchange.replica, exchange.secret = target.replica, target.api_key
        try:
            return await self._connect(target), target
        finally:
            exchange.connect_ns = time.monotonic_ns() - began_ns

    def release(self, connection: Connection) -> None:
        """Take a connection back after its exchange."""
        if connection.usable:
            self._idle.append(connection)
        else:
            connection.abort()

    async def close(self) -> None:
        """Abort every connection and wait until the last is gone."""
        self._closing = True
        for refill in self._refills:
            refill.cancel()
        await asyncio.gather(*self._refills, return_exceptions=True)
        connections = tuple(self._open)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.closed for connection in connections))

    async def _connect(self, target: Target) -> Connection:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._forget), target.host, target.port, ssl=self._tls_for(target)
            )
        self._open[connection] = target
        return connection

    async def _try_connect(self, target: Target) -> Connection | None:
        try:
            return await self._connect(target)
        except OSError:
            # The request that finds no idle connection tries again, and its failure is recorded.
            return None

    async def _refill(self) -> None:
        connection = await self._try_connect(self._next_target())
        if connection is not None:
            self._idle.append(connection)

    def _tls_for(self, target: Target) -> ssl.SSLContext | None:
        if target.tls and self._tls is None:
            self._tls = ssl.create_default_context(cafile=target.ca_file)
        return self._tls if target.tls else None

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        if connection not in self._idle:
            return
        self._idle.remove(connection)
        if connection.has_served and not self._closing:
            # Servers close idle connections after seconds; the next request should not pay for the handshake.
            # One that is closed before its first request is not replaced: that server slams the door.
            refill = asyncio.get_running_loop().create_task(self._refill())
            self._refills.add(refill)
            refill.add_done_callback(self._refills.discard)
