"""GPUs that several servers share: how long each of their steps is on them while others have work there, too.

Kernels of two processes do not run side by side unless MPS lets them: the driver hands a GPU round in slices of time
that are short beside a step. So n steps that have work for one GPU get an n-th of its time each, and one that waits
for its host leaves the GPU to the others. A step on several GPUs goes as fast as on the one with most to do.
"""

from collections.abc import Iterable, Sequence

Placing = Sequence[tuple[int, ...]]
"""The GPUs of each replica."""


class _Work:
    """What a step has left for the GPU, in seconds of it alone, and when that is done at ``rate`` of its time."""

    __slots__ = ("end", "left", "rate", "since")

    def __init__(self, now: float, seconds: float) -> None:
        self.since, self.left = now, seconds
        self.rate, self.end = 0.0, now

    def go_on_at(self, rate: float, now: float) -> None:
        """Get another part of the GPU's time from ``now`` on."""
        self.left = max(self.left - self.rate * (now - self.since), 0.0)
        self.since, self.rate = now, rate
        self.end = now + self.left / rate


class Cards:
    """The work that is on shared GPUs, by replica."""

    def __init__(self, placing: Placing) -> None:
        self._placing = placing
        self._on: dict[int, list[int]] = {}
        for at, cards in enumerate(placing):
            for card in cards:
                self._on.setdefault(card, []).append(at)
        self._mates = [
            sorted({mate for card in cards for mate in self._on[card]} - {at}) for at, cards in enumerate(placing)
        ]
        self._works: dict[int, _Work] = {}
        self._busy = dict.fromkeys(self._on, 0)
        self._moved: set[int] = set()

    def begin(self, at: int, now: float, seconds: float) -> float:
        """Take in a replica's work that needs ``seconds`` of GPUs alone; return when it ends, as things stand."""
        work = self._works[at] = _Work(now, seconds)
        self._count(at, 1, now)
        work.go_on_at(self._rate(at), now)
        return work.end

    def end(self, at: int, now: float) -> None:
        """Let a replica's work be done."""
        del self._works[at]
        self._count(at, -1, now)

    def end_of(self, at: int) -> float:
        """Return when a replica's work ends, as things stand."""
        return self._works[at].end

    def take_moved(self) -> Iterable[int]:
        """Return whose work ends at another time than when this was last asked, since others began or ended theirs."""
        moved = self._moved & self._works.keys()
        self._moved.clear()
        return moved

    def _count(self, at: int, one: int, now: float) -> None:
        for card in self._placing[at]:
            self._busy[card] += one
        for mate in self._mates[at]:
            if mate in self._works:
                self._works[mate].go_on_at(self._rate(mate), now)
                self._moved.add(mate)

    def _rate(self, at: int) -> float:
        return 1 / max(self._busy[card] for card in self._placing[at])
