"""Leading workers through a cell: orders out, a common start, progress in, and an end in order, whoever fails."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from whichbits.drive.crew.hand import Hand
from whichbits.drive.crew.orders import Start, Stop

START_AHEAD_SECONDS = 0.02
"""From the word to start until the start: many times what the word takes to reach every worker of a busy machine."""

LONE_START_AHEAD_SECONDS = 0.005
"""The same where nobody has to be waited for."""

ROUND_TRIPS_AHEAD = 10
"""To workers elsewhere the word may take as many of the quickest round trips: a network has slow moments, too."""

END_SECONDS = 10.0
"""How long a worker may take to end in order when nobody wants its part any more."""

SILENT_SECONDS = 60.0
"""A worker that sends says how far it is ten times a second; one that is silent for so long hangs, or was stopped."""

PROGRESS_SECONDS = 0.1
_NS = 1_000_000_000


class Progress(Protocol):
    """Told ten times a second how far a cell is; must return quickly."""

    def __call__(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        """``failed`` and ``chunks`` are what is known without decoding: broken transports, pieces of body."""
        ...


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
        await self._read_clocks()
        loop = asyncio.get_running_loop()
        for hand in self._hands:
            loop.add_reader(hand.worker.channel.fileno(), self._hear, hand)
            # uvloop makes what it watches non-blocking, and a long message would then break off in the middle.
            os.set_blocking(hand.worker.channel.fileno(), True)
        # In threads: an order may be a hundred megabytes, and a worker that is new listens only when it has started.
        try:
            await self._in_threads(Hand.begin, self._hands)
            await self._to_the_end(stop)
        finally:
            await self._end_in_order()
            for hand in self._hands:
                loop.remove_reader(hand.worker.channel.fileno())
                hand.end()
        await self._read_clocks()
        self._tell()

    async def _read_clocks(self) -> None:
        """Ask those elsewhere for their time, while nobody listens for anything else on their channels."""
        await self._in_threads(Hand.read_clock, [hand for hand in self._hands if hand.worker.machine is not None])

    @staticmethod
    async def _in_threads(step: Callable[[Hand], None], hands: Sequence[Hand]) -> None:
        """Take a step that talks to workers; if the caller is cancelled, no talk is left half over."""
        if hands:
            taking = asyncio.gather(*(asyncio.to_thread(step, hand) for hand in hands))
            try:
                await asyncio.shield(taking)
            finally:
                await asyncio.wait({taking})

    async def _to_the_end(self, stop: asyncio.Event) -> None:
        watching = [asyncio.ensure_future(self._stopped_by(stop))]
        try:
            await self._until(lambda: self._all_warm() or self._any_failed() or self._is_overdue)
            self._start()
            watching.append(asyncio.ensure_future(self._lose_the_silent()))
            await self._until(lambda: self._all_over() or self._any_failed() or self._is_overdue)
        finally:
            for watch in watching:
                watch.cancel()
            await asyncio.gather(*watching, return_exceptions=True)

    def _start(self) -> None:
        ahead_s = START_AHEAD_SECONDS if len(self._hands) > 1 else LONE_START_AHEAD_SECONDS
        farthest_ns = max(2 * hand.clock.error_ns for hand in self._hands)
        start_ns = time.monotonic_ns() + round(ahead_s * _NS) + ROUND_TRIPS_AHEAD * farthest_ns
        for hand in self._hands:
            hand.say(Start(start_ns + hand.clock.offset_ns))

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

    async def _lose_the_silent(self) -> None:
        """Give up on workers that say nothing, from the start of the traffic on; warming may take its time."""
        began_ns = time.monotonic_ns()
        while True:
            await asyncio.sleep(min(1.0, SILENT_SECONDS / 4))
            longest_ago_ns = time.monotonic_ns() - round(SILENT_SECONDS * _NS)
            for hand in self._hands:
                if not hand.is_over and max(hand.heard_ns, began_ns) < longest_ago_ns:
                    hand.lost = f"{hand.worker.name} has said nothing for {SILENT_SECONDS:g} s"
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
