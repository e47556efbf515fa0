"""GPUs that several servers share: how fast each of their steps goes on while others are in a step, too.

Kernels of two processes do not run side by side, unless MPS lets them: the driver hands a GPU round in slices of
time that are short beside a step. So a GPU's time is a fluid that is shared out. A step that alone keeps the GPU busy for a
share of its time (its demand) needs no more than that, and whoever needs less than an equal part leaves the rest to
the others. A step on several GPUs goes as fast as on the slowest of them.
"""

from collections.abc import Iterable, Sequence

Placing = Sequence[tuple[int, ...]]
"""The GPUs of each replica."""


class _Step:
    """A step under way: seconds that it would still take alone, since when it goes on at ``rate``, and its end."""

    __slots__ = ("demand", "end", "left", "rate", "since")

    def __init__(self, now: float, seconds: float, demand: float) -> None:
        self.since, self.left, self.demand = now, seconds, demand
        self.rate, self.end = 0.0, now

    def go_on_at(self, rate: float, now: float) -> None:
        """Change the pace from ``now`` on."""
        self.left = max(self.left - self.rate * (now - self.since), 0.0)
        self.since, self.rate = now, rate
        self.end = now + self.left / rate


class Cards:
    """The steps under way on shared GPUs, by replica."""

    def __init__(self, placing: Placing) -> None:
        self._placing = placing
        self._on: dict[int, list[int]] = {}
        for at, cards in enumerate(placing):
            for card in cards:
                self._on.setdefault(card, []).append(at)
        self._mates = [sorted({mate for card in cards for mate in self._on[card]}) for cards in placing]
        self._steps: dict[int, _Step] = {}
        # Replicas whose end is another than it was, but for the one that began or ended.
        self._moved: set[int] = set()

    def begin(self, at: int, now: float, seconds: float, demand: float) -> None:
        """Let a step begin that alone takes ``seconds``, for a share ``demand`` of which the GPU works."""
        self._steps[at] = _Step(now, seconds, demand)
        self._share_out(at, now)

    def end(self, at: int, now: float) -> None:
        """Let the step of a replica be over."""
        del self._steps[at]
        self._share_out(at, now)

    def end_of(self, at: int) -> float:
        """Return when the step of a replica ends, as things stand."""
        return self._steps[at].end

    def take_moved(self) -> Iterable[int]:
        """Return the replicas whose step has got another end since this was last asked."""
        moved, self._moved = self._moved, set()
        return moved

    def _share_out(self, at: int, now: float) -> None:
        for mate in self._mates[at]:
            step = self._steps.get(mate)
            if step is None:
                continue
            rate = min(self._rate(mate, card) for card in self._placing[mate])
            if rate != step.rate:
                step.go_on_at(rate, now)
                self._moved.add(mate)

    def _rate(self, at: int, card: int) -> float:
        demands = {mate: self._steps[mate].demand for mate in self._on[card] if mate in self._steps}
        return rates(demands)[at]


def rates(demands: dict[int, float]) -> dict[int, float]:
    """Return how fast each goes on, 1 being alone, if those who ask for less than an equal part leave the rest."""
    found: dict[int, float] = {}
    left = 1.0
    for place, (at, demand) in enumerate(sorted(demands.items(), key=lambda each: each[1])):
        part = min(demand, left / (len(demands) - place))
        left -= part
        found[at] = part / demand if demand > 0 else 1.0
    return found
