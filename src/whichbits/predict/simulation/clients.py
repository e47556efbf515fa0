"""Who sends, in virtual time: a closed loop of streams, or arrivals at a rate with or without a cap."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from whichbits.predict.simulation.workload import Workload

Send = tuple[float, int]
"""When, and which request by its place in the workload."""


class Client(Protocol):
    """Decides when requests leave; ``scheduled_s`` fills while it does. Its rules are those of ``drive.pace``."""

    scheduled_s: list[float]

    def opening(self) -> list[Send]:
        """Return what leaves first, in order of time."""
        ...

    def following(self, request: int) -> Send | None:
        """Return what leaves after ``request``, whatever happens; called when that one's time has come."""
        ...

    def ended(self, now: float, request: int) -> Sequence[Send]:
        """Learn that ``request`` ended at ``now``; return those that leave because of it, then or later."""
        ...


class ClosedLoop:
    """Streams that each send their next request as soon as the last one ended, and stay with a session to its end."""

    def __init__(self, work: Workload, concurrency: int) -> None:
        self.scheduled_s = [0.0] * len(work)
        self._work = work
        self._streams = min(concurrency, work.beginnings)
        self._next: Iterator[int] = iter(range(self._streams, work.beginnings))

    def opening(self) -> list[Send]:
        return [(0.0, request) for request in range(self._streams)]

    def following(self, request: int) -> Send | None:  # noqa: ARG002 - who sends next waits for an end
        return None

    def ended(self, now: float, request: int) -> Sequence[Send]:
        if self._work.follows and (turn := _next_turn(self._work, now, request, self.scheduled_s)) is not None:
            return (turn,)
        following = next(self._next, None)
        if following is None:
            return ()
        self.scheduled_s[following] = now
        return ((now, following),)


class OpenLoop:
    """Requests leave at their offsets, whatever became of the others; later turns when their time has come."""

    def __init__(self, work: Workload) -> None:
        self.scheduled_s = list(work.offset_s or ())
        self._work, self._beginnings = work, work.beginnings

    def opening(self) -> list[Send]:
        first = self.following(-1)
        return [] if first is None else [first]

    def following(self, request: int) -> Send | None:
        return _due(self.scheduled_s, request + 1, self._beginnings)

    def ended(self, now: float, request: int) -> Sequence[Send]:
        if not self._work.follows:
            return ()
        turn = _next_turn(self._work, now, request, self.scheduled_s)
        return () if turn is None else (turn,)


class CappedLoop:
    """Arrivals at a rate; while ``cap`` are in flight, those that are due wait in order."""

    def __init__(self, work: Workload, cap: int) -> None:
        self.scheduled_s = list(work.offset_s or ())
        self._work, self._beginnings = work, work.beginnings
        self._free = cap
        self._due: deque[int] = deque()

    def opening(self) -> list[Send]:
        first = self.following(-1)
        return [] if first is None else [first]

    def following(self, request: int) -> Send | None:
        return _due(self.scheduled_s, request + 1, self._beginnings)

    def may_leave(self, request: int) -> bool:
        """Say whether a request that is due gets a slot; if not, it is sent when one is free."""
        if self._free:
            self._free -= 1
            return True
        self._due.append(request)
        return False

    def ended(self, now: float, request: int) -> Sequence[Send]:
        turn = _next_turn(self._work, now, request, self.scheduled_s) if self._work.follows else None
        later: tuple[Send, ...] = ()
        if turn is not None and turn[0] > now:
            later = (turn,)
        elif turn is not None:
            self._due.append(turn[1])
        if self._due:
            return ((now, self._due.popleft()), *later)
        self._free += 1
        return later


def _due(offset_s: Sequence[float], request: int, beginnings: int) -> Send | None:
    """Return when the request of that number is to leave; arrivals are in order of time."""
    return (offset_s[request], request) if request < beginnings else None


def _next_turn(work: Workload, now: float, request: int, scheduled_s: list[float]) -> Send | None:
    """Return when the session's next turn leaves, if there is one, and note it."""
    following = work.next_turn.get(request)
    if following is None:
        return None
    scheduled_s[following] = now + work.think_s[following]
    return (scheduled_s[following], following)


def client_for(work: Workload, concurrency: int | None) -> Client:
    """Return the client that a load asks for: closed without offsets, else open, under a cap if there is one."""
    if work.offset_s is None:
        return ClosedLoop(work, concurrency or len(work))
    return OpenLoop(work) if concurrency is None else CappedLoop(work, concurrency)
