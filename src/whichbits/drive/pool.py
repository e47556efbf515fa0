"""Connections to one target, opened before the clock starts and kept ready while it runs."""

import asyncio
import ssl
import time

from whichbits.drive.connection import Connection
from whichbits.drive.exchange import Exchange
from whichbits.drive.target import Target

CONNECT_SECONDS = 10.0
"""A handshake that takes longer fails: the kernel's own patience, two minutes, would outlive most cells."""

_AT_ONCE = 64  # below the listen backlog of common servers (asyncio 100, uvicorn 2048)


class ConnectionPool:
    """A target's connections; the one used last goes first, so that only the surplus grows old."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._tls = ssl.create_default_context() if target.tls else None
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._refills: set[asyncio.Task[None]] = set()
        self._closing = False

    async def warm(self, count: int) -> None:
        """Open up to ``count`` connections. A server that refuses is left for the requests to report."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one() -> None:
            async with gate:
                await self._add_idle()

        async with asyncio.TaskGroup() as opening:
            for _ in range(count):
                opening.create_task(one())

    async def acquire(self, exchange: Exchange) -> Connection:
        """Return a ready connection, at once if one is idle; else open one and note the time it took.

        Raises:
            OSError: no connection could be opened (``TimeoutError`` included).
        """
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            connection.abort()
        began_ns = time.monotonic_ns()
        try:
            return await self._connect()
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

    async def _connect(self) -> Connection:
        target = self._target
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._forget), target.host, target.port, ssl=self._tls
            )
        self._open.add(connection)
        return connection

    async def _add_idle(self) -> None:
        try:
            self._idle.append(await self._connect())
        except OSError:
            # The request that finds no idle connection tries again, and its failure is recorded.
            return

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection not in self._idle:
            return
        self._idle.remove(connection)
        if connection.has_served and not self._closing:
            # Servers close idle connections after seconds; the next request should not pay for the handshake.
            # One that is closed before its first request is not replaced: that server slams the door.
            refill = asyncio.get_running_loop().create_task(self._add_idle())
            self._refills.add(refill)
            refill.add_done_callback(self._refills.discard)
