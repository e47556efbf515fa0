"""Which stream is due when: each at its own phase, or all at the instant at which a step ends."""

import time
from collections.abc import Callable, Iterable, Mapping, Sized
from heapq import heappop, heappush, heapreplace
from typing import Protocol

from whichbits.serve.mock.engine.speed import Speed
from whichbits.serve.mock.messages.stream import Stream
from whichbits.serve.mock.settings import Cadence

Finished = Callable[[Stream], None]
"""Told of a stream that has sent its last; may add another meanwhile."""


class Clockwork(Protocol):
    """The streams that run, and their deadlines: absolute monotonic nanoseconds, so that no lateness adds up."""

    def add(self, stream: Stream, first_ns: int) -> None:
        """Take a stream whose first token is due at ``first_ns``."""
        ...

    def next_ns(self) -> int | None:
        """Return the next deadline; None if nobody runs."""
        ...

    def send_due(self) -> None:
        """Send everything whose time has come."""
        ...


class Spread:
    """Each stream at its own phase: a heap of deadlines. A stream that is over is dropped when its turn comes."""

    def __init__(self, speed: Speed, running: Sized, finished: Finished) -> None:
        """``running`` are the requests that hold slots."""
        self._speed = speed
        self._running = running
        self._finished = finished
        self._heap: list[tuple[int, int, Stream]] = []

    def add(self, stream: Stream, first_ns: int) -> None:
        heappush(self._heap, (first_ns, stream.number, stream))

    def next_ns(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def send_due(self) -> None:
        heap, clock, gap, running = self._heap, time.monotonic_ns, self._speed.next_ns, self._running
        while heap and heap[0][0] <= clock():
            due_ns, number, stream = heap[0]
            if stream.over:
                heappop(heap)
            elif stream.tick(due_ns):
                next_ns = due_ns + gap(len(running))
                heapreplace(heap, (max(next_ns, stream.not_before_ns), number, stream))
            else:
                heappop(heap)
                self._finished(stream)


class Steps:
    """All at once, as an engine's step ends: a request whose prompt is done joins the next step."""

    def __init__(self, speed: Speed, running: Sized, finished: Finished) -> None:
        """``running`` are the requests that hold slots."""
        self._speed = speed
        self._running = running
        self._finished = finished
        self._streams: list[Stream] = []
        self._end_ns = 0

    def add(self, stream: Stream, first_ns: int) -> None:
        stream.not_before_ns = first_ns
        if not self._streams:
            self._end_ns = first_ns
        self._streams.append(stream)

    def next_ns(self) -> int | None:
        return self._end_ns if self._streams else None

    def send_due(self) -> None:
        if not self._streams or time.monotonic_ns() < self._end_ns:
            return
        end_ns = self._end_ns
        present, self._streams = self._streams, []
        staying, ended = self._step(present, end_ns)
        # Sends may have closed connections, and so let others in meanwhile.
        self._streams = staying + self._streams
        for stream in ended:
            self._finished(stream)
        self._end_ns = end_ns + self._speed.next_ns(len(self._running))

    def _step(self, present: Iterable[Stream], end_ns: int) -> tuple[list[Stream], list[Stream]]:
        """Send a step's tokens; return the streams that go on and those that sent their last."""
        staying: list[Stream] = []
        ended: list[Stream] = []
        for stream in present:
            if not stream.over:
                goes_on = stream.not_before_ns > end_ns or stream.tick(end_ns)
                (staying if goes_on else ended).append(stream)
        return staying, ended


CADENCES: Mapping[Cadence, Callable[[Speed, Sized, Finished], Clockwork]] = {"spread": Spread, "steps": Steps}
