"""The kernel's stamps of reads, which are wall-clock time, on the monotonic clock."""

import time
from collections.abc import Callable

STEP_NS = 1_000_000
"""A wall clock that moves by more between two looks has been set; slewing moves it by 0.05 ms in 100 ms."""

_TRIES = 5


class KernelClock:
    """How far the wall clock is ahead of the monotonic one, and whether it was set in between.

    An offset is measured by reading both clocks one after the other; a try that was interrupted is seen by the time
    it took, and the quickest of a few counts.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self.offset_ns = self._measure()

    def renew(self) -> None:
        """Follow the wall clock's slewing, unless it was set: ``holds`` shall see that."""
        fresh_ns = self._measure()
        if abs(fresh_ns - self.offset_ns) < STEP_NS:
            self.offset_ns = fresh_ns

    def holds(self, now_ns: int) -> bool:
        """Return whether stamps up to ``now_ns``, which is just past, can be trusted; False once after a step."""
        ahead_ns = self._wall_ns() - now_ns - self.offset_ns
        if -STEP_NS < ahead_ns < STEP_NS:
            return True
        before_ns, self.offset_ns = self.offset_ns, self._measure()
        return abs(self.offset_ns - before_ns) < STEP_NS

    def _measure(self) -> int:
        tries = []
        for _ in range(_TRIES):
            before_ns = self._monotonic_ns()
            wall_ns = self._wall_ns()
            after_ns = self._monotonic_ns()
            tries.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
        return min(tries)[1]
