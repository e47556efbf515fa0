"""The loop of one worker: what is sent, what becomes of it, and what is to be done next.

It is plain and synchronous on purpose: nothing stands between an event and what it means.
"""

import select
import time

from whichbits.drive.answer.exchange import Exchange, Failure
from whichbits.drive.answer.outcome import judge
from whichbits.drive.answer.reader import Answer
from whichbits.drive.http.connections import Connections
from whichbits.drive.http.wire import CONTROL_BYTES, READ_BYTES, WRITABLE, Wire
from whichbits.drive.part import CellPart
from whichbits.drive.request_body import RequestBytes
from whichbits.drive.routing import Router
from whichbits.drive.sending.agenda import Agenda, Departure
from whichbits.drive.sending.finished import Finished
from whichbits.drive.sending.intake import NEVER_NS, Intake
from whichbits.drive.sending.patience import Deadlines, Patience
from whichbits.drive.sending.samples import Samples
from whichbits.traffic.request import PlannedRequest


class Loop:
    """Carries a part's exchanges; ``turn`` is called until ``over``."""

    def __init__(self, part: CellPart, router: Router, finished: Finished) -> None:
        """Encode every request; nothing is opened or sent."""
        self._router = router
        self._finished = finished
        self._epoll = select.epoll()
        self.connections = Connections(part.targets, router, self._epoll)
        self._requests = RequestBytes(part.targets, part.planned)
        self._length_forced = all(target.form.forced_length for target in part.targets)
        self._keeps_text = any(target.keeps_text for target in part.targets)
        self._patience = Patience.of(part.limits)
        self._deadlines = Deadlines(self._patience)
        self._agenda: Agenda | None = None
        self._in_flight = 0
        self.intake = Intake(self._epoll, self.connections.wires, self)
        self.sent = self.ended = self.failed = self.pieces = 0
        self.send_lags = Samples()

    def begin(self, agenda: Agenda) -> None:
        """Take up ``agenda``: from now on turns send what is due."""
        self._agenda = agenda
        self._see_due()

    @property
    def over(self) -> bool:
        """Whether every request has ended and none is to come."""
        return not self._in_flight and (self._agenda is None or self._agenda.over)

    def turn(self, until_ns: int) -> None:
        """Do what is to be done, or wait for it until ``until_ns`` at the latest."""
        if not self.intake.take():
            if self._finished.has_work:
                self._finished.work()
            else:
                self.intake.wait(until_ns)
        self.send_due(time.monotonic_ns())

    def look_after(self, now_ns: int) -> None:
        """Give up what has waited too long."""
        for wire in self._deadlines.passed(now_ns):
            self._give_up(wire, self._patience.lost(wire, now_ns))

    def hand_over(self) -> None:
        """Give the lead the records that are made."""
        self._finished.hand_over()

    def cancel(self) -> None:
        """End what is in flight, and send nothing more."""
        self._agenda = None
        self.intake.due_ns = NEVER_NS
        for wire in tuple(self.connections.wires.values()):
            self._give_up(wire, Failure("cancelled", "stopped while in flight"))

    def close(self) -> None:
        """Close every socket."""
        self.connections.close()
        self._epoll.close()

    # Reading

    def prepare(self, wire: Wire, mask: int) -> bool:
        """Do what else an event asks for; return whether there may be something to read for a request."""
        if not wire.is_open:
            self._advance(wire)
            return False
        if mask & WRITABLE and wire.unsent is not None:
            self._send_rest(wire)
        if mask & ~WRITABLE and not wire.is_reading:
            self._look_at_idle(wire)
        return bool(mask & ~WRITABLE) and wire.is_reading

    def decode(self, wire: Wire) -> None:
        """Look into what was read of a wire's answer, and end its exchange if that is over."""
        pending, framing = wire.pending, wire.framing
        for data, stamp_ns, waited_ns in pending:
            self.intake.backlog_bytes -= len(data)
            framing.feed(data, stamp_ns, waited_ns)
        pending.clear()
        self.pieces += framing.pieces
        framing.pieces = 0
        exchange = wire.exchange
        if exchange is not None and exchange.finished_ns is not None:
            self._end(wire, exchange)

    def broken(self, wire: Wire, error: OSError) -> None:
        if not isinstance(error, BlockingIOError):
            self._give_up(wire, Failure("connection_lost", str(error)))

    def hung_up(self, wire: Wire) -> None:
        self.decode(wire)
        if wire.exchange is not None:
            wire.framing.hang_up()
            self._give_up(wire, Failure("connection_lost", "the server closed the connection"))

    def _give_up(self, wire: Wire, failure: Failure) -> None:
        """End a wire and what it carries, after what had arrived has been looked into."""
        self.decode(wire)
        exchange = wire.exchange
        wire.framing.reusable = False
        if exchange is not None:
            if not wire.is_open:
                exchange.connect_ns = time.monotonic_ns() - wire.began_ns
            exchange.fail(*failure)
            self._end(wire, exchange)
        else:
            self.connections.forget_idle(wire)

    def _look_at_idle(self, wire: Wire) -> None:
        """Servers close idle connections after seconds; the next request should not pay for the handshake."""
        try:
            wire.receive(READ_BYTES, CONTROL_BYTES)  # an end, or words without a request, such as a 408
        except BlockingIOError:
            return  # TLS talks for itself, too
        except OSError:
            pass
        self.connections.forget_idle(wire)
        # One that is closed before its first request is not replaced: that server slams the door.
        if wire.has_served:
            self.open(wire.lane)

    # Opening

    def open(self, lane: int, waiting: Exchange | None = None) -> bool:
        """Begin to open a connection; return whether it could begin."""
        try:
            wire = self.connections.open(lane, waiting)
        except OSError as error:
            self._not_opened(lane, waiting, error, time.monotonic_ns())
            return False
        self._deadlines.watch(wire)
        return True

    def _advance(self, wire: Wire) -> None:
        waiting = wire.exchange
        try:
            is_open = self.connections.advance(wire)
        except OSError as error:
            self._not_opened(wire.lane, waiting, error, wire.began_ns)
            return
        if not is_open:
            return
        if waiting is None:
            self.connections.give(wire)
        else:
            waiting.connect_ns = time.monotonic_ns() - wire.began_ns
            self._send(wire, waiting)

    def _not_opened(self, lane: int, waiting: Exchange | None, error: OSError, began_ns: int) -> None:
        if waiting is not None:
            waiting.connect_ns = time.monotonic_ns() - began_ns
            waiting.fail("connect_failed", str(error) or type(error).__name__)
            self._account(lane, waiting, Answer())

    # Sending

    def send_due(self, now_ns: int) -> None:
        agenda = self._agenda
        if agenda is None or now_ns < self.intake.due_ns:
            return
        while (departure := agenda.take(time.monotonic_ns())) is not None:
            self._depart(departure)
        self._see_due()

    def _see_due(self) -> None:
        due_ns = self._agenda.next_due_ns() if self._agenda is not None else None
        self.intake.due_ns = NEVER_NS if due_ns is None else due_ns

    def _depart(self, departure: Departure) -> None:
        exchange = self._exchange(departure.planned, departure.scheduled_ns, departure.due_ns)
        self.sent += 1
        self._in_flight += 1
        lane = self._router.lane(departure.planned)
        wire = self.connections.take(lane)
        if wire is None:
            self.open(lane, exchange)
        else:
            exchange.replica, exchange.secret = wire.target.replica, wire.target.api_key
            self._send(wire, exchange)

    def _exchange(self, planned: PlannedRequest, scheduled_ns: int, due_ns: int) -> Exchange:
        return Exchange(
            planned.index,
            None,
            planned.output_tokens,
            scheduled_ns,
            due_ns,
            length_forced=self._length_forced,
            keeps_text=self._keeps_text,
        )

    def _send(self, wire: Wire, exchange: Exchange) -> None:
        """Send at once. The stamp is taken before the write: it errs towards a longer TTFT, never a shorter one."""
        request = self._requests.to(wire.target, exchange.index)
        exchange.sent_ns = wire.heard_ns = time.monotonic_ns()
        self.send_lags.add(exchange.sent_ns - exchange.due_ns)
        wire.begin(exchange)
        self._push(wire, request)
        self._deadlines.watch(wire)

    def _send_rest(self, wire: Wire) -> None:
        if wire.unsent is not None:
            self._push(wire, wire.unsent)

    def _push(self, wire: Wire, data: bytes | memoryview) -> None:
        was_stuck = wire.unsent is not None
        try:
            wire.send(data)
        except OSError as error:
            # The server may have answered before it hung up; if not, the read tells so as well.
            wire.unsent = None
            if not was_stuck:
                self._give_up(wire, Failure("connection_lost", str(error)))
                return
        if was_stuck or wire.unsent is not None:
            self.connections.await_room(wire)

    # Ending

    def _end(self, wire: Wire, exchange: Exchange) -> None:
        wire.exchange = None
        wire.is_reading = False
        answer = wire.framing.end()
        if exchange.complete:
            self.connections.give(wire)
        else:
            self.connections.discard(wire)
        self._account(wire.lane, exchange, answer)

    def _account(self, lane: int, exchange: Exchange, answer: Answer) -> None:
        """Count an exchange that is over, and tell those who wait for it."""
        self._in_flight -= 1
        self._router.ended(lane, turned_away=_turned_away(exchange))
        self._file(exchange, answer)
        if self._agenda is not None:
            self._tell_agenda(self._agenda, exchange, answer)
            self._see_due()

    def _tell_agenda(self, agenda: Agenda, exchange: Exchange, answer: Answer) -> None:
        at_ns = exchange.finished_ns or exchange.due_ns
        failed = agenda.is_followed(exchange.index) and judge(exchange, answer) is not None
        for turn in agenda.ended(exchange.index, at_ns, failed=failed):
            unsent = self._exchange(turn, at_ns, at_ns)
            unsent.fail("session_broken", f"request {exchange.index}, an earlier turn, failed")
            self._file(unsent, Answer())

    def _file(self, exchange: Exchange, answer: Answer) -> None:
        self.ended += 1
        self.failed += exchange.failure is not None and exchange.failure.code != "cancelled"
        self._finished.add(exchange, answer)


def _turned_away(exchange: Exchange) -> bool:
    """Whether the server was not there, or hung up without a word; any answer, be it 503, is an answer."""
    failure = exchange.failure
    gone = failure is not None and failure.code in ("connect_failed", "connection_lost")
    return gone and exchange.first_byte_ns is None
