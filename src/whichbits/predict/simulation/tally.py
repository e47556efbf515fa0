"""Times of any number of requests in little memory: counts in bins that are a hundredth wide."""

from math import ceil, exp, log

import numpy as np

from whichbits.traffic.draws import Integers

_SHORTEST_MS = 0.01
_WIDTH = log(1.01)
_BINS = ceil(log(1e9) / _WIDTH)
"""From 10 us to nearly three hours."""
_AT_ONCE = 8192
"""Times that are kept as they are until they are counted together, which takes a tenth of the time."""


class Tally:
    """Times in ms, counted by bin; a percentile is right to half a percent. Tallies of parts add up."""

    __slots__ = ("_counts", "_new")

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, dtype=np.int64)
        self._new: list[float] = []

    @property
    def counts(self) -> Integers:
        """How many times lie in each bin."""
        self._count_new()
        return self._counts

    @property
    def total(self) -> int:
        """How many times were added."""
        return int(self._counts.sum()) + len(self._new)

    def add(self, ms: float) -> None:
        """Count one time; what is shorter or longer than any bin goes into the nearest."""
        self._new.append(ms)
        if len(self._new) == _AT_ONCE:
            self._count_new()

    def merge(self, other: "Tally") -> None:
        """Add what another tally counted."""
        self._count_new()
        self._counts += other.counts

    def percentile(self, percent: float) -> float | None:
        """Return the middle of the bin that holds the percentile; None of nothing."""
        total = self.total
        if not total:
            return None
        place = int(np.searchsorted(np.cumsum(self.counts), max(percent / 100 * total, 1)))
        return _SHORTEST_MS * exp((place + 0.5) * _WIDTH)

    def _count_new(self) -> None:
        longer = np.maximum(self._new, _SHORTEST_MS)
        places = np.minimum(np.log(longer / _SHORTEST_MS) / _WIDTH, _BINS - 1).astype(np.int64)
        self._counts += np.bincount(places, minlength=_BINS)
        self._new = []
