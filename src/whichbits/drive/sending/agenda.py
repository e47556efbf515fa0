"""What is due when: closed loop, open loop, open loop under a cap, and sessions whose turns follow each other."""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from whichbits.traffic.request import PlannedRequest


class Departure(NamedTuple):
    """A request that may leave.

    ``scheduled_ns`` is when it should have left, ``due_ns`` when it could have: later only where it waited for a slot.
    """

    planned: PlannedRequest
    scheduled_ns: int
    due_ns: int


class Agenda(Protocol):
    """Hands out requests when they are due; times are absolute monotonic nanoseconds."""

    def begin(self, start_ns: int) -> None:
        """Set the start; until then nothing is due."""
        ...

    def next_due_ns(self) -> int | None:
        """Return when the next request may leave; None while that depends on an answer, or if none is left."""
        ...

    def take(self, now_ns: int) -> Departure | None:
        """Return a request that may have left by ``now_ns``, or None."""
        ...

    def ended(self, index: int, at_ns: int, *, failed: bool) -> Sequence[PlannedRequest]:
        """Learn that a request that was taken is over; return the later turns that can now never be sent."""
        ...

    def is_followed(self, index: int) -> bool:
        """Return whether a later turn of a session waits for this request."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing is left to take, now or later."""
        ...


def closed_loop(planned: Sequence[PlannedRequest], streams: int) -> Agenda:
    """Keep ``streams`` busy; a request is scheduled for the moment its stream became free.

    A session stays with its stream, also while it thinks.

    Raises:
        ValueError: a turn of a session follows none, or one that another follows as well.
    """
    return _ClosedLoop(planned, streams)


def open_loop(planned: Sequence[PlannedRequest], cap: int | None) -> Agenda:
    """Send each request at its offset, whatever became of the others; under a cap it may wait for a slot.

    The wait is part of every latency, since latencies count from the schedule. A thinking session holds no slot.

    Raises:
        ValueError: a request that follows no other has no offset, or turns do not follow each other.
    """
    return _OpenLoop(planned, cap)


class _Sessions:
    """Which turn follows which, and the turns whose moment is known because the one before has ended."""

    def __init__(self, planned: Sequence[PlannedRequest]) -> None:
        self._next = {request.follows: request for request in planned if request.follows is not None}
        later = sum(request.follows is not None for request in planned)
        if len(self._next) != later or not self._next.keys() <= {request.index for request in planned}:
            message = "a session's turns must lie in one part, and each must follow another one"
            raise ValueError(message)
        self._thinking: list[tuple[int, int, PlannedRequest]] = []

    def ended(self, index: int, at_ns: int, *, failed: bool) -> tuple[bool, Sequence[PlannedRequest]]:
        """Return whether the session goes on, and the turns that a failure has made impossible."""
        turn = self._next.pop(index, None)
        if turn is None:
            return False, ()
        if not failed:
            heappush(self._thinking, (at_ns + turn.think_ns, turn.index, turn))
            return True, ()
        broken = []
        while turn is not None:
            broken.append(turn)
            turn = self._next.pop(turn.index, None)
        return False, broken

    def is_followed(self, index: int) -> bool:
        return index in self._next

    def next_ns(self) -> int | None:
        return self._thinking[0][0] if self._thinking else None

    def take(self) -> tuple[PlannedRequest, int]:
        """Return the turn that is due first, and when it is."""
        at_ns, _, turn = heappop(self._thinking)
        return turn, at_ns

    @property
    def over(self) -> bool:
        return not self._next and not self._thinking


class _ClosedLoop:
    def __init__(self, planned: Sequence[PlannedRequest], streams: int) -> None:
        self._sessions = _Sessions(planned)
        self._waiting = deque(request for request in planned if request.follows is None)
        self._streams = min(streams, len(self._waiting))
        self._free_ns: deque[int] = deque()

    def begin(self, start_ns: int) -> None:
        self._free_ns.extend([start_ns] * self._streams)

    def next_due_ns(self) -> int | None:
        thought_ns = self._sessions.next_ns()
        if not self._free_ns or not self._waiting:
            return thought_ns
        return self._free_ns[0] if thought_ns is None else min(thought_ns, self._free_ns[0])

    def take(self, now_ns: int) -> Departure | None:
        thought_ns = self._sessions.next_ns()
        if thought_ns is not None and thought_ns <= now_ns:
            turn, at_ns = self._sessions.take()
            return Departure(turn, at_ns, at_ns)
        if not self._waiting or not self._free_ns or self._free_ns[0] > now_ns:
            return None
        free_ns = self._free_ns.popleft()
        return Departure(self._waiting.popleft(), free_ns, free_ns)

    def ended(self, index: int, at_ns: int, *, failed: bool) -> Sequence[PlannedRequest]:
        goes_on, broken = self._sessions.ended(index, at_ns, failed=failed)
        if not goes_on:
            self._free_ns.append(at_ns)
        return broken

    def is_followed(self, index: int) -> bool:
        return self._sessions.is_followed(index)

    @property
    def over(self) -> bool:
        return not self._waiting and self._sessions.over


class _OpenLoop:
    def __init__(self, planned: Sequence[PlannedRequest], cap: int | None) -> None:
        self._sessions = _Sessions(planned)
        first = [(_offset_ns(request), request) for request in planned if request.follows is None]
        self._to_come = deque(sorted(first, key=lambda each: each[0]))
        self._waiting: deque[tuple[int, PlannedRequest]] = deque()
        self._slots = None if cap is None else min(cap, len(planned))
        self._free_ns: deque[int] | None = None if cap is None else deque()
        self._start_ns: int | None = None

    def begin(self, start_ns: int) -> None:
        self._start_ns = start_ns
        if self._free_ns is not None and self._slots is not None:
            self._free_ns.extend([start_ns] * self._slots)

    def next_due_ns(self) -> int | None:
        if self._free_ns is not None and not self._free_ns:
            return None
        if self._waiting:
            return self._waiting[0][0]
        arrival_ns, thought_ns = self._next_arrival_ns(), self._sessions.next_ns()
        if arrival_ns is None or thought_ns is None:
            return thought_ns if arrival_ns is None else arrival_ns
        return min(arrival_ns, thought_ns)

    def take(self, now_ns: int) -> Departure | None:
        self._gather(now_ns)
        if not self._waiting or (self._free_ns is not None and not self._free_ns):
            return None
        scheduled_ns, request = self._waiting.popleft()
        due_ns = scheduled_ns if self._free_ns is None else max(scheduled_ns, self._free_ns.popleft())
        return Departure(request, scheduled_ns, due_ns)

    def ended(self, index: int, at_ns: int, *, failed: bool) -> Sequence[PlannedRequest]:
        if self._free_ns is not None:
            self._free_ns.append(at_ns)
        return self._sessions.ended(index, at_ns, failed=failed)[1]

    def is_followed(self, index: int) -> bool:
        return self._sessions.is_followed(index)

    @property
    def over(self) -> bool:
        return not self._to_come and not self._waiting and self._sessions.over

    def _gather(self, now_ns: int) -> None:
        """Queue all whose moment has come, in its order."""
        while True:
            arrival_ns, thought_ns = self._next_arrival_ns(), self._sessions.next_ns()
            if thought_ns is not None and (arrival_ns is None or thought_ns < arrival_ns):
                if thought_ns > now_ns:
                    return
                turn, at_ns = self._sessions.take()
                self._waiting.append((at_ns, turn))
            elif arrival_ns is not None and arrival_ns <= now_ns:
                self._waiting.append((arrival_ns, self._to_come.popleft()[1]))
            else:
                return

    def _next_arrival_ns(self) -> int | None:
        if not self._to_come or self._start_ns is None:
            return None
        return self._start_ns + self._to_come[0][0]


def _offset_ns(request: PlannedRequest) -> int:
    if request.offset_ns is None:
        message = f"request {request.index} has no offset, but the load has a rate"
        raise ValueError(message)
    return request.offset_ns
