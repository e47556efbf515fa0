"""A replica that shares its GPUs: every step is an event of its own, whose end moves as others' steps begin and end."""

from typing import Any

from whichbits.predict.simulation.cards import Cards
from whichbits.predict.simulation.engine import Replica


class SharingReplica(Replica):
    """A server process beside others on the same GPUs; its pace must tell what of a step the GPU is idle."""

    __slots__ = ("_at", "_cards")

    def __init__(self, cards: Cards, at: int, *given: Any, keep_steps: bool = False) -> None:
        """Take place ``at`` on ``cards``; the rest is a ``Replica``'s."""
        super().__init__(*given, keep_steps=keep_steps)
        self._cards, self._at = cards, at

    def step(self) -> list[int]:
        """Finish the step that ends at ``until``, return the requests that it ended, and begin the next."""
        self._cards.end(self._at, self.until)
        self._stretch = (1, self.until - self._start, 0.0)
        return super().step()

    def _plan_mixed(self, now: float) -> None:
        super()._plan_mixed(now)
        batch, chunks, idle = self._scheduler.batch, self._scheduler.chunks, self._pace.idle
        if idle is not None:
            tokens = batch + sum(chunk for _, _, chunk, _ in chunks)
            sampled = batch + sum(there + chunk == wanted for _, there, chunk, wanted in chunks)
            self._begin(now, idle.mixed[tokens] + idle.head[sampled])

    def _plan_stretch(self, now: float, *, lost_one: bool) -> None:  # noqa: ARG002 - one step in any case
        super()._plan_stretch(now, lost_one=True)
        if self._pace.idle is not None:
            self._begin(now, self._pace.idle.decode[self._scheduler.batch])

    def _begin(self, now: float, idle_s: float) -> None:
        seconds = self.until - now
        self._cards.begin(self._at, now, seconds, max(seconds - idle_s, 0.0) / seconds)
        self.until = self._cards.end_of(self._at)
