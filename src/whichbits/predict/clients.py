"""Who sends, in virtual time: a closed loop of streams, or arrivals at a rate with or without a cap."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from whichbits.predict.workload import Workload

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

    def ended(self, now: float, request: int) -> Send | None:
        """Learn that ``request`` ended at ``now``; return the one that leaves because of it."""
        ...


class ClosedLoop:
    """Streams that each send their next request as soon as the last one ended."""

    def __init__(self, work: Workload, concurrency: int) -> None:
        self.scheduled_s = [0.0] * len(work)
        self._streams = min(concurrency, len(work))
        self._next: Iterator[int] = iter(range(self._streams, len(work)))

    def opening(self) -> list[Send]:
        return [(0.0, request) for request in range(self._streams)]

    def following(self, request: int) -> Send | None:  # noqa: ARG002 - who sends next waits for an end
        return None

    def ended(self, now: float, request: int) -> Send | None:  # noqa: ARG002
        following = next(self._next, None)
        if following is None:
            return None
        self.scheduled_s[following] = now
        return (now, following)


class OpenLoop:
    """Requests leave at their offsets, whatever became of the others."""

    def __init__(self, offset_s: Sequence[float]) -> None:
        self.scheduled_s = list(offset_s)

    def opening(self) -> list[Send]:
        first = self.following(-1)
        return [] if first is None else [first]

    def following(self, request: int) -> Send | None:
        return _due(self.scheduled_s, request + 1)

    def ended(self, now: float, request: int) -> Send | None:  # noqa: ARG002 - nobody waits for an end
        return None


class CappedLoop:
    """Arrivals at a rate; while ``cap`` are in flight, those that are due wait in order."""

    def __init__(self, offset_s: Sequence[float], cap: int) -> None:
        self.scheduled_s = list(offset_s)
        self._free = cap
        self._due: deque[int] = deque()

    def opening(self) -> list[Send]:
        first = self.following(-1)
        return [] if first is None else [first]

    def following(self, request: int) -> Send | None:
        return _due(self.scheduled_s, request + 1)

    def may_leave(self, request: int) -> bool:
        """Say whether a request that is due gets a slot; if not, it is sent when one is free."""
        if self._free:
            self._free -= 1
            return True
        self._due.append(request)
        return False

    def ended(self, now: float, request: int) -> Send | None:  # noqa: ARG002
        if self._due:
            return (now, self._due.popleft())
        self._free += 1
        return None


def _due(offset_s: Sequence[float], request: int) -> Send | None:
    """Return when the request of that number is to leave; arrivals are in order of time."""
    return (offset_s[request], request) if request < len(offset_s) else None


def client_for(work: Workload, concurrency: int | None) -> Client:
    """Return the client that a load asks for: closed without offsets, else open, under a cap if there is one."""
    if work.offset_s is None:
        return ClosedLoop(work, concurrency or len(work))
    return OpenLoop(work.offset_s) if concurrency is None else CappedLoop(work.offset_s, concurrency)
