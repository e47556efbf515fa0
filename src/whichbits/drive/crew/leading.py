"""Leading workers through a cell: orders out, a common start, progress in, and an end in order, whoever fails."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from whichbits.drive.crew.hire import Hired
from whichbits.drive.crew.orders import Done, Failed, Order, Refused, Start, Stop, Told, Warm
from whichbits.drive.crew.service import GONE

START_AHEAD_SECONDS = 0.02
"""From the word to start until the start: many times what the word takes to reach every worker of a busy machine."""

LONE_START_AHEAD_SECONDS = 0.005
"""The same where nobody has to be waited for."""

END_SECONDS = 10.0
"""How long a worker may take to end in order when nobody wants its part any more."""

PROGRESS_SECONDS = 0.1
_NS = 1_000_000_000


class Progress(Protocol):
    """Told ten times a second how far a cell is; must return quickly."""

    def __call__(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        """``failed`` and ``chunks`` are what is known without decoding: broken transports, pieces of body."""
        ...


class Hand:
    """One worker in one cell. ``done`` stays None if it ``refused``, or was ``lost``, which says how."""

    def __init__(self, worker: Hired, order: Order) -> None:
        self.worker = worker
        self.order = order
        self.is_warm = False
        self.told = Told()
        self.done: Done | None = None
        self.refused: Refused | None = None
        self.lost: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be heard of the part."""
        return self.done is not None or self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the part ended otherwise than in order."""
        return self.refused is not None or self.lost is not None

    def hear(self) -> None:
        """Take the message that has arrived."""
        try:
            message = self.worker.channel.recv()
        except GONE:
            self.lost = f"{self.worker.name} {self.worker.fate() or 'hung up'}"
            return
        match message:
            case Warm():
                self.is_warm = True
            case Told():
                self.told = message
            case Done():
                self.done = message
            case Refused():
                self.refused = message
            case Failed(error):
                self.lost = f"{self.worker.name} failed: {error}"

    def say(self, message: Any) -> None:
        """Tell the worker, if it still listens; that it does not is heard soon enough."""
        if not self.is_over:
            try:
                self.worker.channel.send(message)
            except GONE:
                return


class Leading:
    """The lead's side of one cell, on the running event loop."""

    def __init__(self, hands: Sequence[Hand], progress: Progress | None) -> None:
        self._hands = hands
        self._progress = progress
        self._told_ns = 0
        self._news = asyncio.Event()
        self._is_overdue = False

    async def through(self, stop: asyncio.Event) -> None:
        """Lead the hands to their end: of the plan, of ``stop``, or of the first that is lost.

        If the caller is cancelled, the workers end in order first. A worker that does not end is lost.
        """
        loop = asyncio.get_running_loop()
        for hand in self._hands:
            loop.add_reader(hand.worker.channel.fileno(), self._hear, hand)
            # uvloop makes what it watches non-blocking, and a long message would then break off in the middle.
            os.set_blocking(hand.worker.channel.fileno(), True)
        # In threads: an order may be a hundred megabytes, and a worker that is new listens only when it has started.
        ordering = asyncio.gather(*(asyncio.to_thread(hand.say, hand.order) for hand in self._hands))
        try:
            await asyncio.shield(ordering)
            await self._to_the_end(stop)
        finally:
            await asyncio.wait({ordering})
            await self._end_in_order()
            for hand in self._hands:
                loop.remove_reader(hand.worker.channel.fileno())
        self._tell()

    async def _to_the_end(self, stop: asyncio.Event) -> None:
        stopping = asyncio.ensure_future(self._stopped_by(stop))
        try:
            await self._until(lambda: self._all_warm() or self._any_failed() or self._is_overdue)
            self._start()
            await self._until(lambda: self._all_over() or self._any_failed() or self._is_overdue)
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    def _start(self) -> None:
        ahead_s = START_AHEAD_SECONDS if len(self._hands) > 1 else LONE_START_AHEAD_SECONDS
        start_ns = time.monotonic_ns() + round(ahead_s * _NS)
        for hand in self._hands:
            hand.say(Start(start_ns + hand.worker.clock_offset_ns))

    async def _end_in_order(self) -> None:
        """Let nobody work on, and wait for the last, even if the caller is in a hurry."""
        self._say_to_all(Stop())
        ending = asyncio.ensure_future(asyncio.wait_for(self._until(self._all_over), END_SECONDS))
        await asyncio.wait({ending})
        for hand in self._hands:
            if not hand.is_over:
                hand.lost = f"{hand.worker.name} did not end within {END_SECONDS:g} s"
        await asyncio.gather(ending, return_exceptions=True)

    def _all_over(self) -> bool:
        return all(hand.is_over for hand in self._hands)

    def _all_warm(self) -> bool:
        return all(hand.is_warm or hand.is_over for hand in self._hands)

    def _any_failed(self) -> bool:
        return any(hand.has_failed for hand in self._hands)

    async def _stopped_by(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._say_to_all(Stop())
        await asyncio.sleep(END_SECONDS)
        self._is_overdue = True  # a worker that hangs hears nothing, and would keep the user for ever
        self._news.set()

    def _hear(self, hand: Hand) -> None:
        hand.hear()
        if hand.is_over:
            asyncio.get_running_loop().remove_reader(hand.worker.channel.fileno())
        self._news.set()
        if time.monotonic_ns() - self._told_ns >= PROGRESS_SECONDS * _NS:
            self._tell()

    def _say_to_all(self, message: Any) -> None:
        for hand in self._hands:
            hand.say(message)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            await self._news.wait()

    def _tell(self) -> None:
        self._told_ns = time.monotonic_ns()
        if self._progress is not None:
            self._progress(
                sent=sum(hand.told.sent for hand in self._hands),
                finished=sum(hand.told.finished for hand in self._hands),
                failed=sum(hand.told.failed for hand in self._hands),
                chunks=sum(hand.told.chunks for hand in self._hands),
            )
