"""How long to wait for a connection, for an answer, and for the next word of one."""

from heapq import heappop, heappush
from typing import NamedTuple, Self

from whichbits.drive.answer.exchange import Failure
from whichbits.drive.http.connections import CONNECT_SECONDS
from whichbits.drive.http.wire import Wire
from whichbits.study.model import Limits

_NS = 1_000_000_000
_CONNECT_NS = round(CONNECT_SECONDS * _NS)


class Patience(NamedTuple):
    """How long an answer may take, and how long it may be silent; nanoseconds."""

    total_ns: int
    silence_ns: int

    @classmethod
    def of(cls, limits: Limits) -> Self:
        """Return the study's limits as nanoseconds."""
        return cls(round(limits.request_seconds * _NS), round(limits.silence_seconds * _NS))

    def deadline_ns(self, wire: Wire) -> int | None:
        """Return when to give up if nothing more arrives, or None if nothing is awaited."""
        if not wire.is_open:
            return wire.began_ns + _CONNECT_NS
        exchange = wire.exchange
        if exchange is None or exchange.sent_ns is None:
            return None
        return min(exchange.sent_ns + self.total_ns, wire.heard_ns + self.silence_ns)

    def lost(self, wire: Wire, now_ns: int) -> Failure:
        """Return why a wire whose deadline has passed is given up."""
        exchange = wire.exchange
        if not wire.is_open:
            return Failure("connect_failed", f"no connection after {CONNECT_SECONDS:g} s")
        if exchange is not None and exchange.sent_ns is not None and exchange.sent_ns + self.total_ns <= now_ns:
            return Failure("timeout_total", f"no complete answer after {self.total_ns / _NS:g} s")
        return Failure("timeout_silence", f"nothing received for {self.silence_ns / _NS:g} s")


class Deadlines:
    """Finds wires whose deadline has passed.

    A wire is looked at when the deadline that it was entered with comes, and entered anew if that has moved meanwhile,
    as it does with every read: so a read costs nothing here.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._entries: list[tuple[int, int, Wire]] = []

    def watch(self, wire: Wire) -> None:
        """See to it that the wire is looked at when its present deadline comes."""
        deadline_ns = self._patience.deadline_ns(wire)
        if deadline_ns is not None and (wire.watched_ns is None or deadline_ns < wire.watched_ns):
            wire.watched_ns = deadline_ns
            heappush(self._entries, (deadline_ns, wire.number, wire))

    def passed(self, now_ns: int) -> list[Wire]:
        """Return the wires that have waited too long."""
        late = []
        while self._entries and self._entries[0][0] <= now_ns:
            entered_ns, _, wire = heappop(self._entries)
            if wire.is_closed or entered_ns != wire.watched_ns:
                continue
            wire.watched_ns = None
            deadline_ns = self._patience.deadline_ns(wire)
            if deadline_ns is not None and deadline_ns <= now_ns:
                late.append(wire)
            else:
                self.watch(wire)
        return late
