"""A replica that shares its GPUs: in a part of each step it has work for them, and gets its part of their time."""

from typing import Any

from whichbits.predict.simulation.cards import Cards
from whichbits.predict.simulation.engine import Replica


class SharingReplica(Replica):
    """A server process beside others. A step is two events: its host is done, then the GPU is.

    Where in a step the GPU waits for the host nobody tells: it is taken to be at the beginning.
    """

    __slots__ = ("_at", "_cards", "_on_gpu_s", "_waits")

    def __init__(self, cards: Cards, at: int, *given: Any, keep_steps: bool = False) -> None:
        """Take place ``at`` on ``cards``; the rest is a ``Replica``'s."""
        super().__init__(*given, keep_steps=keep_steps)
        self._cards, self._at = cards, at
        self._on_gpu_s, self._waits = 0.0, False

    def step(self) -> list[int]:
        """Go on to the GPU, or finish the step, return the requests that it ended, and plan the next."""
        now = self.until
        if self._waits:
            self._waits = False
            self.until = self._cards.begin(self._at, now, self._on_gpu_s)
            return []
        self._cards.end(self._at, now)
        self._stretch = (1, now - self._start, 0.0)
        return super().step()

    def _plan_mixed(self, now: float) -> None:
        super()._plan_mixed(now)
        batch, chunks, idle = self._scheduler.batch, self._scheduler.chunks, self._pace.idle
        tokens = batch + sum(chunk for _, _, chunk, _ in chunks)
        sampled = batch + sum(there + chunk == wanted for _, there, chunk, wanted in chunks)
        self._wait(now, idle.mixed[tokens] + idle.head[sampled] if idle else 0.0)

    def _plan_stretch(self, now: float, *, lost_one: bool) -> None:  # noqa: ARG002 - one step in any case
        super()._plan_stretch(now, lost_one=True)
        idle = self._pace.idle
        self._wait(now, idle.decode[self._scheduler.batch] if idle else 0.0)

    def _wait(self, now: float, idle_s: float) -> None:
        """Begin the step that is planned, by waiting for the host."""
        self._waits = True
        self._on_gpu_s = max(self.until - now - idle_s, 0.0)
        self.until = now + idle_s
