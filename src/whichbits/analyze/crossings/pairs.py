"""The comparisons of a study by pair and metric; of very many arms, those are made that somebody asks for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast, overload

from whichbits.analyze.curves.load_curves import METRICS
from whichbits.analyze.summary import Crossover, Metric

Judge = Callable[[tuple[str, str], Metric], Crossover | None]
"""Compares two arms by one metric; None where they share no load."""


class Pairs(Sequence[Crossover]):
    """As a sequence, the comparisons that were made from the start; ``between`` finds those, and makes others.

    So what goes through all pairs is bounded, and what needs a certain pair has it, however many arms there are.
    """

    def __init__(self, made: Iterable[Crossover], arms: Sequence[str] = (), judge: Judge | None = None) -> None:
        """Hold ``made``; ``judge`` makes what is asked for beyond it, arms in the order of ``arms``."""
        self._made = tuple(made)
        self._order = {arm: place for place, arm in enumerate(arms)}
        self._judge = judge
        self._found: dict[tuple[Metric, frozenset[str]], Crossover | None] = {}
        for each in self._made:
            self._found.setdefault((each.metric, frozenset(each.arms)), each)

    @overload
    def __getitem__(self, at: int) -> Crossover: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Crossover]: ...
    def __getitem__(self, at: int | slice) -> Crossover | Sequence[Crossover]:
        """Return one of those made from the start."""
        return self._made[at]

    def __len__(self) -> int:
        """Return how many were made from the start."""
        return len(self._made)

    def between(self, one: str, other: str, metric: Metric) -> Crossover | None:
        """Return how two arms compare by a metric; None where they share no load, or nobody may compare them."""
        key = (metric, frozenset((one, other)))
        if key not in self._found and self._judge is not None and one != other and metric in METRICS:
            first, second = sorted((one, other), key=lambda arm: self._order.get(arm, len(self._order)))
            self._found[key] = self._judge((first, second), metric)
        return self._found.get(key)

    def all(self) -> tuple[Crossover, ...]:
        """Return every comparison made so far: by metric, and pairs in the order of the arms."""
        if self._judge is None:
            return self._made
        metrics = list(METRICS)
        return tuple(sorted(self._known(), key=lambda each: (metrics.index(each.metric), *map(self._place, each.arms))))

    def _known(self) -> Iterator[Crossover]:
        return (each for each in self._found.values() if each is not None)

    def _place(self, arm: str) -> int:
        return self._order.get(arm, len(self._order))


def between(crossovers: Sequence[Crossover], pair: tuple[str, str], metric: str) -> Crossover | None:
    """Return how a pair compares by a metric, from those at hand or made now; None for what is no such metric."""
    pairs = crossovers if isinstance(crossovers, Pairs) else Pairs(crossovers)
    return pairs.between(*pair, cast("Metric", metric))
