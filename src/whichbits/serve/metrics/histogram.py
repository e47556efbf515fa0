"""Prometheus histograms: what two scrapes observed in between, its mean, and quantiles with their bucket error."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from whichbits.serve.metrics.exposition import Exposition
from whichbits.serve.metrics.names import Timed, names

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Quantile:
    """A quantile of bucketed samples: the sample lies above ``low``, and at or below ``high``.

    ``value`` interpolates between them; it is None where the sample lies above the last finite bound, and ``high`` is
    None where nothing bounds it.
    """

    value: float | None
    low: float
    high: float | None


@dataclass(frozen=True)
class Histogram:
    """Samples counted by upper bound, cumulatively; bounds ascend and end with infinity."""

    bounds: tuple[float, ...]
    cumulative: tuple[float, ...]
    sum: float | None

    @property
    def count(self) -> float:
        """Return the number of samples."""
        return self.cumulative[-1]

    @property
    def mean(self) -> float | None:
        """Return sum / count: exact, whatever the buckets. None without samples."""
        return None if self.sum is None or not self.count else self.sum / self.count

    def quantile(self, share: float) -> Quantile | None:
        """Return the sample of rank ``share`` x count with the bounds of what it can be; None without samples.

        As PromQL's ``histogram_quantile``, samples within a bucket are taken as evenly spread, and the first bucket
        starts at 0. Two things differ. Above the last finite bound PromQL returns that bound; here the value is
        None. And the upper bound is never more than the exact sum allows: a median of samples that last 0.02 ms on
        average is not 150 ms only because the first bucket ends at 300 ms.
        """
        if not self.count:
            return None
        rank = share * self.count
        place = next(place for place, reached in enumerate(self.cumulative) if reached >= rank and reached > 0)
        low, bound, below = self._low(place), self.bounds[place], self._below(place)
        high = min(bound, self._most(place, max(1, math.ceil(rank))))
        if math.isinf(bound):
            return Quantile(None, low, None if math.isinf(high) else high)
        within = max(0.0, rank - below) / (self.cumulative[place] - below)
        return Quantile(low + (high - low) * within, low, high)

    def _low(self, place: int) -> float:
        return 0.0 if place == 0 else self.bounds[place - 1]

    def _below(self, place: int) -> float:
        return 0.0 if place == 0 else self.cumulative[place - 1]

    def _most(self, place: int, rank: int) -> float:
        """Return the most that the sample of ``rank``, in bucket ``place``, can be, by the sum of all samples.

        Each sample is at least its bucket's lower bound; what the sum holds beyond that is shared, at most, by the
        sample and those of its bucket that are no smaller.
        """
        if self.sum is None:
            return math.inf
        counts = (self.cumulative[at] - self._below(at) for at in range(len(self.bounds)))
        least = math.fsum(self._low(at) * count for at, count in enumerate(counts))
        no_smaller = self.cumulative[place] - rank + 1
        most = self._low(place) + (self.sum - least) / no_smaller
        # Sums are rounded, and a scrape may catch a sum and its counts at two moments.
        return most + _ROUNDING * self.sum if most >= self._low(place) else math.inf


def read_histogram(exposition: Exposition, timed: Timed) -> Histogram | None:
    """Read a histogram of seconds, summed over its label sets; None if it has neither buckets nor a count."""
    for name in names(exposition.engine, timed):
        found = _read(exposition, name.stem)
        if found is not None:
            return found
    return None


def histograms_of(exposition: Exposition) -> dict[Timed, Histogram]:
    """Read every histogram of seconds that the engine has."""
    timed: tuple[Timed, ...] = get_args(Timed)
    found = ((name, read_histogram(exposition, name)) for name in timed)
    return {name: histogram for name, histogram in found if histogram is not None}


def growth(before: Histogram, after: Histogram) -> Histogram | None:
    """Return what was observed between two scrapes; None if the buckets changed or a count fell (a restart)."""
    if before.bounds != after.bounds:
        return None
    counts = tuple(late - early for early, late in zip(before.cumulative, after.cumulative, strict=True))
    total = None if before.sum is None or after.sum is None else after.sum - before.sum
    return _checked(after.bounds, counts, total)


def added(histograms: Sequence[Histogram]) -> Histogram | None:
    """Add up histograms of several engines; None if there are none or their buckets differ."""
    if not histograms or len({histogram.bounds for histogram in histograms}) > 1:
        return None
    counts = tuple(map(math.fsum, zip(*(histogram.cumulative for histogram in histograms), strict=True)))
    sums = [histogram.sum for histogram in histograms if histogram.sum is not None]
    total = math.fsum(sums) if len(sums) == len(histograms) else None
    return Histogram(histograms[0].bounds, counts, total)


def _read(exposition: Exposition, stem: str) -> Histogram | None:
    counts: dict[float, float] = defaultdict(float)
    for sample in exposition.samples(f"{stem}_bucket"):
        if (bound := _bound(sample.labels.get("le"))) is not None:
            counts[bound] += sample.value
    sums, numbers = exposition.values(f"{stem}_sum"), exposition.values(f"{stem}_count")
    if not counts and numbers:
        # Without buckets (an exporter that drops them), the mean is still known: all samples lie below infinity.
        counts[math.inf] = math.fsum(numbers)
    if math.inf not in counts:
        return None
    bounds = tuple(sorted(counts))
    return _checked(bounds, tuple(counts[bound] for bound in bounds), math.fsum(sums) if sums else None)


def _bound(text: str | None) -> float | None:
    try:
        bound = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(bound) else bound


def _checked(bounds: tuple[float, ...], counts: tuple[float, ...], total: float | None) -> Histogram | None:
    """Return a histogram only if its counts never fall: not across a restart, nor from a torn scrape."""
    steps = zip((0.0, *counts), counts, strict=False)
    return Histogram(bounds, counts, total) if all(late >= early for early, late in steps) else None
