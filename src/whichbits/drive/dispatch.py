"""Sends single requests to a set of targets and keeps what they left behind."""

import asyncio
import math
from collections import deque
from collections.abc import Sequence

from whichbits.drive.answer import Answer, read_answer
from whichbits.drive.connection import Patience
from whichbits.drive.exchange import Exchange
from whichbits.drive.pool import ConnectionPool
from whichbits.drive.request_body import request_bytes
from whichbits.drive.target import Target
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

RAW_BYTES_KEPT = 256 * 2**20
"""Raw answers kept for decoding after the cell; beyond it each new answer makes the oldest be decoded."""

_PIECE_OVERHEAD = 80  # bytes that CPython needs to hold a small bytes object, its stamp and two list slots
_ARRIVAL_SECONDS = 4.0  # an open loop without a cap: connections for the arrivals of so many seconds
_MOST_UNCAPPED = 256


class Dispatcher:
    """One cell's way out. Requests go round-robin over the targets by their index."""

    def __init__(self, targets: Sequence[Target], planned: Sequence[PlannedRequest], limits: Limits) -> None:
        """Build every request's bytes; nothing is sent."""
        self._targets = targets
        self._pools = [ConnectionPool(target) for target in targets]
        self._patience = Patience.of(limits)
        self._requests = {request.index: request_bytes(self._target(request), request) for request in planned}
        self._raw: deque[Exchange] = deque()
        self._raw_bytes = 0
        self._answers: dict[Exchange, Answer] = {}
        self.exchanges: list[Exchange] = []

    async def warm(self, planned: Sequence[PlannedRequest], load: Load) -> None:
        """Open the connections that ``load`` will need."""
        shares = [0] * len(self._pools)
        for request in planned:
            shares[request.index % len(shares)] += 1
        needed = load.concurrency or min(_MOST_UNCAPPED, math.ceil(_ARRIVAL_SECONDS * (load.request_rate or 0)))
        pools = zip(self._pools, shares, strict=True)
        await asyncio.gather(*(pool.warm(min(needed, share)) for pool, share in pools))

    async def send(self, planned: PlannedRequest, *, scheduled_ns: int, due_ns: int) -> int:
        """Send one request and return when it ended; failures are in its exchange."""
        replica = self._target(planned).replica
        exchange = Exchange(planned.index, replica, planned.output_tokens, scheduled_ns, due_ns)
        self.exchanges.append(exchange)
        try:
            await self._converse(exchange)
        except asyncio.CancelledError:
            exchange.fail("cancelled", "stopped while in flight")
            raise
        self._keep(exchange)
        return exchange.finished_ns or due_ns

    async def answers(self) -> list[Answer]:
        """Decode what is left; one answer for each of ``exchanges``."""
        for exchange in self.exchanges:
            if exchange not in self._answers:
                self._answers[exchange] = read_answer(exchange)
                await asyncio.sleep(0)  # the caller's loop goes on living
        return [self._answers[exchange] for exchange in self.exchanges]

    async def close(self) -> None:
        """Close every connection."""
        await asyncio.gather(*(pool.close() for pool in self._pools))

    async def _converse(self, exchange: Exchange) -> None:
        pool = self._pools[exchange.index % len(self._pools)]
        try:
            connection = await pool.acquire(exchange)
        except OSError as error:
            exchange.fail("connect_failed", str(error) or type(error).__name__)
            return
        try:
            await connection.converse(self._requests[exchange.index], exchange, self._patience)
        finally:
            pool.release(connection)

    def _keep(self, exchange: Exchange) -> None:
        self._raw.append(exchange)
        self._raw_bytes += _weight(exchange)
        while self._raw_bytes > RAW_BYTES_KEPT:
            oldest = self._raw.popleft()
            self._raw_bytes -= _weight(oldest)
            self._answers[oldest] = read_answer(oldest)

    def _target(self, planned: PlannedRequest) -> Target:
        return self._targets[planned.index % len(self._targets)]


def _weight(exchange: Exchange) -> int:
    return exchange.body_bytes + _PIECE_OVERHEAD * len(exchange.pieces)
