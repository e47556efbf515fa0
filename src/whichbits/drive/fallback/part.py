"""The fallback transport: a part whose servers stand behind an HTTP proxy, driven by asyncio and aiohttp.

It keeps the same records and is slower: some thousand chunks a second are its limit, which the self-check sees.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.outcome import to_record
from whichbits.drive.answer.reader import read_answer
from whichbits.drive.fallback.exchange import FallbackSession
from whichbits.drive.part import CellPart, Lead, PartReport
from whichbits.drive.request_body import RequestBytes
from whichbits.drive.sending.until import until
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.traffic.request import PlannedRequest

_TICK_NS = 5_000_000
_TELL_EVERY = 20
_MOST_LAGS = 20_000


def needs_fallback(targets: Sequence[Target]) -> bool:
    """Return whether the own transport cannot reach one of ``targets``."""
    return any(target.proxy is not None for target in targets)


def drive_part_by_aiohttp(part: CellPart, lead: Lead) -> PartReport:
    """Send the part's requests as the lead says and return what is left besides the records.

    The clock starts at the lead's word; a part that must not begin leaves an empty report.
    """
    return asyncio.run(_drive(part, lead))


async def _drive(part: CellPart, lead: Lead) -> PartReport:
    driver = _Driver(part, lead)
    started_ns = lead.start()
    if started_ns is None:
        now_ns = time.monotonic_ns()
        return driver.report(now_ns, now_ns, cpu_ns=0, cancelled=True)
    cpu_ns = time.process_time_ns()
    async with FallbackSession(part.limits) as session:
        cancelled = await driver.run(session, started_ns)
    return driver.report(started_ns, time.monotonic_ns(), cpu_ns=time.process_time_ns() - cpu_ns, cancelled=cancelled)


@dataclass
class _Driver:
    part: CellPart
    lead: Lead
    send_lags_ns: list[int] = field(default_factory=list)
    loop_lags_ns: list[int] = field(default_factory=list)
    late_connect_ns: dict[int, int] = field(default_factory=dict)
    sent: int = 0
    finished: int = 0
    failed: int = 0
    chunks: int = 0
    gaps: int = 0
    short_gaps: int = 0

    def __post_init__(self) -> None:
        targets = self.part.targets
        self._requests = RequestBytes(targets, self.part.planned)
        self._router = self.part.route.router(len(targets), self.part.planned)
        self._forced = all(target.form.forced_length for target in targets)
        self._keeps_text = any(target.keeps_text for target in targets)
        self._next_turn = {turn.follows: turn for turn in self.part.planned if turn.follows is not None}
        self._first_turns = [turn for turn in self.part.planned if turn.follows is None]

    async def run(self, session: FallbackSession, start_ns: int) -> bool:
        """Send everything; return whether the lead stopped it."""
        self._session = session
        sending = asyncio.ensure_future(self._open_loop(start_ns) if self.part.open_loop else self._closed(start_ns))
        watching = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, watching):
                task.cancel()
            await asyncio.gather(sending, watching, return_exceptions=True)
        self._tell()
        if sending.cancelled():
            return True
        sending.result()
        return False

    async def _closed(self, start_ns: int) -> None:
        """Keep the streams busy; a stream stays with a conversation to its end, thinking included."""
        waiting = iter(self._first_turns)

        async def stream() -> None:
            free_ns = start_ns
            for first in waiting:
                free_ns = await self._conversation(first, free_ns, None)

        await until(start_ns)
        async with asyncio.TaskGroup() as streams:
            for _ in range(self.part.streams or 1):
                streams.create_task(stream())

    async def _open_loop(self, start_ns: int) -> None:
        """Send at the offsets; who waits for a slot under the cap, or thinks, holds none."""
        slots = None if self.part.streams is None else asyncio.Semaphore(self.part.streams)
        async with asyncio.TaskGroup() as conversations:
            for first in sorted(self._first_turns, key=lambda turn: turn.offset_ns or 0):
                scheduled_ns = start_ns + (first.offset_ns or 0)
                await until(scheduled_ns)
                conversations.create_task(self._conversation(first, scheduled_ns, slots))

    async def _conversation(self, first: PlannedRequest, scheduled_ns: int, slots: asyncio.Semaphore | None) -> int:
        """Send a request and, each after its thinking, the turns that follow it; return when the last ended.

        After a turn that failed nobody could say the next one: the rest is not sent.
        """
        turn: PlannedRequest | None = first
        ended_ns = scheduled_ns
        while turn is not None:
            await until(scheduled_ns)
            record = await self._in_slot(turn, scheduled_ns, slots)
            ended_ns = (record.finished_ns or 0) + self.part.clock_origin_ns
            if not record.succeeded:
                self._break_off(turn.index, ended_ns)
                break
            turn = self._next_turn.get(turn.index)
            scheduled_ns = ended_ns + (turn.think_ns if turn is not None else 0)
        return ended_ns

    async def _in_slot(self, turn: PlannedRequest, scheduled_ns: int, slots: asyncio.Semaphore | None) -> RequestRecord:
        if slots is None:
            return await self._send(turn, scheduled_ns, scheduled_ns)
        must_wait = slots.locked()
        async with slots:
            return await self._send(turn, scheduled_ns, time.monotonic_ns() if must_wait else scheduled_ns)

    async def _send(self, turn: PlannedRequest, scheduled_ns: int, due_ns: int) -> RequestRecord:
        exchange = self._exchange(turn, scheduled_ns, due_ns)
        lane = self._router.lane(turn)
        target = self.part.targets[self._router.target(lane)]
        self.sent += 1
        try:
            await self._session.converse(target, self._requests.content(target, turn.index), exchange)
        except asyncio.CancelledError:
            exchange.fail("cancelled", "stopped while in flight")
            self._keep(exchange)
            raise
        finally:
            # A proxy answers for a server that is not there: no target is known to have turned a request away.
            self._router.ended(lane, turned_away=False)
        return self._keep(exchange)

    def _break_off(self, failed: int, at_ns: int) -> None:
        turn = self._next_turn.get(failed)
        while turn is not None:
            exchange = self._exchange(turn, at_ns, at_ns)
            exchange.fail("session_broken", f"request {failed}, an earlier turn, failed")
            self._keep(exchange)
            turn = self._next_turn.get(turn.index)

    def _exchange(self, turn: PlannedRequest, scheduled_ns: int, due_ns: int) -> Exchange:
        return Exchange(
            turn.index,
            None,
            turn.output_tokens,
            scheduled_ns,
            due_ns,
            length_forced=self._forced,
            keeps_text=self._keeps_text,
        )

    def _keep(self, exchange: Exchange) -> RequestRecord:
        if exchange.connect_ns is not None:
            self.late_connect_ns[exchange.index] = exchange.connect_ns
        if exchange.sent_ns is not None and len(self.send_lags_ns) < _MOST_LAGS:
            self.send_lags_ns.append(max(0, exchange.sent_ns - exchange.due_ns))
        answer = read_answer(exchange)
        record = to_record(exchange, answer, self.part.clock_origin_ns)
        self.finished += 1
        self.failed += record.error_code not in (None, "cancelled")
        self.chunks += len(record.chunk_ns)
        self.gaps += answer.separate_gaps
        self.short_gaps += answer.short_gaps
        self.lead.keep((record,))
        return record

    async def _watch(self) -> None:
        """Return when the lead wants to stop; on the way, note how late the loop lets this be."""
        for tick in range(1, 2**62):
            due_ns = time.monotonic_ns() + _TICK_NS
            await asyncio.sleep(_TICK_NS / 1e9)
            if len(self.loop_lags_ns) < _MOST_LAGS:
                self.loop_lags_ns.append(max(0, time.monotonic_ns() - due_ns))
            if tick % _TELL_EVERY == 0:
                self._tell()
            if self.lead.stopped():
                return

    def _tell(self) -> None:
        self.lead.told(self.sent, self.finished, self.failed, self.chunks)

    def report(self, started_ns: int, finished_ns: int, *, cpu_ns: int, cancelled: bool) -> PartReport:
        """Return what there is besides the records."""
        origin_ns = self.part.clock_origin_ns
        return PartReport(
            started_ns=started_ns - origin_ns,
            finished_ns=finished_ns - origin_ns,
            cancelled=cancelled,
            cpu_ns=cpu_ns,
            send_lags_ns=tuple(self.send_lags_ns),
            loop_lags_ns=tuple(self.loop_lags_ns),
            read_lags_ns=(),
            gaps=self.gaps,
            short_gaps=self.short_gaps,
            merged_gaps=0,
            late_connect_ns=self.late_connect_ns,
            kernel_stamps=False,
        )
