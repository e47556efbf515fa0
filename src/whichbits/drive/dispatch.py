"""Sends single requests to a set of targets and keeps what they left behind."""

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from functools import partial

from whichbits.drive.answer import Answer, read_answer
from whichbits.drive.connection import Patience
from whichbits.drive.exchange import Exchange
from whichbits.drive.pool import ConnectionPool
from whichbits.drive.request_body import RequestBytes
from whichbits.drive.routing import Route
from whichbits.drive.target import Target
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

RAW_BYTES_KEPT = 256 * 2**20
"""Raw answers kept for decoding after the cell; beyond it each new answer makes the oldest be decoded."""

_PIECE_OVERHEAD = 80  # bytes that CPython needs to hold a small bytes object, its stamp and two list slots
_ARRIVAL_SECONDS = 4.0  # an open loop without a cap: connections for the arrivals of so many seconds
_MOST_UNCAPPED = 256


class Dispatcher:
    """One cell's way out: requests go to the targets as the route says."""

    def __init__(
        self, targets: Sequence[Target], planned: Sequence[PlannedRequest], limits: Limits, route: Route
    ) -> None:
        """Encode every request; nothing is sent."""
        self._targets = targets
        self._router = route.router(len(targets), planned)
        self._pools = [ConnectionPool(partial(self._next_target, lane)) for lane in range(self._router.lanes)]
        self._patience = Patience.of(limits)
        self._requests = RequestBytes(targets, planned)
        self._length_forced = all(target.form.forced_length for target in targets)
        self._keeps_text = any(target.keeps_text for target in targets)
        self._raw: deque[Exchange] = deque()
        self._raw_bytes = 0
        self._answers: dict[Exchange, Answer] = {}
        self.exchanges: list[Exchange] = []

    async def warm(self, planned: Sequence[PlannedRequest], load: Load) -> None:
        """Open the connections that ``load`` will need."""
        needed = load.concurrency or min(_MOST_UNCAPPED, math.ceil(_ARRIVAL_SECONDS * (load.request_rate or 0)))
        shares = self._router.most_in_flight(min(needed, len(planned)))
        await asyncio.gather(*(pool.warm(share) for pool, share in zip(self._pools, shares, strict=True)))

    async def send(self, planned: PlannedRequest, *, scheduled_ns: int, due_ns: int) -> int:
        """Send one request and return when it ended; failures are in its exchange."""
        exchange = Exchange(
            planned.index,
            None,
            planned.output_tokens,
            scheduled_ns,
            due_ns,
            length_forced=self._length_forced,
            keeps_text=self._keeps_text,
        )
        self.exchanges.append(exchange)
        lane = self._router.lane(planned)
        try:
            await self._converse(exchange, self._pools[lane])
        except asyncio.CancelledError:
            exchange.fail("cancelled", "stopped while in flight")
            raise
        finally:
            self._router.ended(lane, turned_away=_turned_away(exchange))
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

    async def _converse(self, exchange: Exchange, pool: ConnectionPool) -> None:
        try:
            connection, target = await pool.acquire(exchange)
        except OSError as error:
            exchange.fail("connect_failed", str(error) or type(error).__name__)
            return
        try:
            await connection.converse(self._requests.to(target, exchange.index), exchange, self._patience)
        finally:
            pool.release(connection)

    def _keep(self, exchange: Exchange) -> None:
        self._raw.append(exchange)
        self._raw_bytes += _weight(exchange)
        while self._raw_bytes > RAW_BYTES_KEPT:
            oldest = self._raw.popleft()
            self._raw_bytes -= _weight(oldest)
            self._answers[oldest] = read_answer(oldest)

    def _next_target(self, lane: int) -> Target:
        return self._targets[self._router.target(lane)]


def _turned_away(exchange: Exchange) -> bool:
    """Whether the server was not there, or hung up without a word; any answer, be it 503, is an answer."""
    failure = exchange.failure
    gone = failure is not None and failure.code in ("connect_failed", "connection_lost")
    return gone and exchange.first_byte_ns is None


def _weight(exchange: Exchange) -> int:
    return exchange.body_bytes + _PIECE_OVERHEAD * len(exchange.pieces)
