"""Times of any number of requests in little memory: counts in bins that are a hundredth wide."""

from dataclasses import dataclass, field
from math import ceil, exp, log

_SHORTEST_MS = 0.01
_WIDTH = log(1.01)
_BINS = ceil(log(1e9) / _WIDTH)
"""From 10 us to nearly three hours."""


@dataclass
class Tally:
    """Times in ms, counted by bin; a percentile is right to half a percent. Tallies of parts add up."""

    counts: list[int] = field(default_factory=lambda: [0] * _BINS)
    total: int = 0

    def add(self, ms: float) -> None:
        """Count one time; what is shorter or longer than any bin goes into the nearest."""
        place = int(log(ms / _SHORTEST_MS) / _WIDTH) if ms > _SHORTEST_MS else 0
        self.counts[min(place, _BINS - 1)] += 1
        self.total += 1

    def merge(self, other: "Tally") -> None:
        """Add what another tally counted."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def percentile(self, percent: float) -> float | None:
        """Return the middle of the bin that holds the percentile; None of nothing."""
        if not self.total:
            return None
        wanted, seen = percent / 100 * self.total, 0
        for place, count in enumerate(self.counts):
            seen += count
            if seen >= wanted and count:
                return _SHORTEST_MS * exp((place + 0.5) * _WIDTH)
        return None
