"""Intervals where tokens of one text are not independent: texts are resampled, not tokens; and shares of counts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from whichbits.analyze.quality.measures import Valued
from whichbits.record.timelines import Floats, Ints

_DRAWS = 2000
_SEED = 7
_TAIL = 0.025
_NEGLIGIBLE = 1e-12
_Z = NormalDist().inv_cdf(1 - _TAIL)


@dataclass(frozen=True)
class Clusters:
    """Sums of a quantity over clusters (texts), how many tokens each has, and the stratum (domain) of each."""

    sums: Floats
    counts: Floats
    strata: npt.NDArray[np.str_]

    @property
    def places(self) -> list[Ints]:
        """The clusters of each stratum, by index."""
        return [np.flatnonzero(self.strata == stratum) for stratum in dict.fromkeys(self.strata.tolist())]


def ratio_interval(  # noqa: PLR0913, PLR0917 - three columns, and how the result is shown
    sums: Sequence[float],
    counts: Sequence[float],
    strata: Sequence[str],
    shown: Callable[[float], float] = float,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Valued:
    """Return sum(sums) / sum(counts) with the interval of a cluster bootstrap, an entry a cluster (a text).

    Clusters are drawn with replacement within their stratum (a domain), whose number of texts was fixed. The interval
    is studentised (bootstrap-t, Efron 1981): each draw is held against its own standard error, so that few clusters of
    a skewed quantity, such as a divergence, are covered, too. ``shown`` is a rising function that the value and its
    ends pass through; ``lowest`` and ``highest`` are what the ratio can be.
    """
    given = Clusters(np.asarray(sums, dtype=float), np.asarray(counts, dtype=float), np.asarray(strata))
    value = float(given.sums.sum() / given.counts.sum())
    if given.sums.size == len(set(strata)):
        return Valued(shown(value), None, None)
    error = float(_errors(given.sums[None], given.counts[None], given.places)[0])
    below, above = _studentised(given, value)
    ends = (max(lowest, value - above * error), min(highest, value - below * error))
    return Valued(shown(value), shown(ends[0]), shown(ends[1]))


def _studentised(given: Clusters, value: float) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % points of (drawn ratio - ratio) / the draw's own standard error."""
    random = np.random.default_rng(_SEED)
    drawn = np.hstack([place[random.integers(place.size, size=(_DRAWS, place.size))] for place in given.places])
    sums, counts = given.sums[drawn], given.counts[drawn]
    ends = np.cumsum([place.size for place in given.places])
    errors = _errors(sums, counts, np.split(np.arange(ends[-1]), ends[:-1]))
    # A draw of one cluster only, again and again, has no error of its own, and says nothing.
    telling = errors > _NEGLIGIBLE * abs(value)
    if not telling.any():
        return 0.0, 0.0
    ratios = sums[telling].sum(axis=1) / counts[telling].sum(axis=1)
    low, high = np.quantile((ratios - value) / errors[telling], (_TAIL, 1 - _TAIL))
    return float(low), float(high)


def _errors(sums: Floats, counts: Floats, places: Sequence[Ints]) -> Floats:
    """Return the linearised standard error of each row's ratio; sums and counts have shape (rows, clusters)."""
    ratios = sums.sum(axis=1) / counts.sum(axis=1)
    residuals = sums - ratios[:, None] * counts
    variance = np.zeros(len(ratios))
    for place in places:
        if place.size > 1:
            variance += place.size * residuals[:, place].var(axis=1, ddof=1)
    errors: Floats = np.sqrt(variance) / counts.sum(axis=1)
    return errors


def mean_share(values: Sequence[float]) -> Valued:
    """Return the mean of shares with its bootstrap interval; values are independent."""
    return ratio_interval(values, [1.0] * len(values), [""] * len(values), lowest=0.0, highest=1.0)


def median_interval(values: Sequence[float]) -> Valued:
    """Return a median with the exact interval of order statistics: at least 95 %, None where there are too few.

    With X ~ Binomial(n, 1/2), the k-th smallest and the k-th largest enclose the median with 1 - 2 P(X < k).
    """
    ordered: Floats = np.sort(np.asarray(values, dtype=float))
    n = ordered.size
    below, k = 0.0, 0
    while k < n and below + math.comb(n, k) / 2**n <= _TAIL:
        below += math.comb(n, k) / 2**n
        k += 1
    middle = float(np.median(ordered))
    return Valued(middle, None, None) if k == 0 else Valued(middle, float(ordered[k - 1]), float(ordered[n - k]))


def share_interval(hits: int, n: int) -> Valued:
    """Return a share with Wilson's score interval (Wilson 1927)."""
    share, z2 = hits / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Valued(share, max(0.0, middle - half), min(1.0, middle + half))


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the exact two-sided McNemar test: were the pairs that changed as likely to change either way?"""
    n, k = only_first + only_second, min(only_first, only_second)
    tail: float = sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    return min(1.0, 2 * tail)


def paired_difference(only_first: int, only_second: int, n: int) -> Valued:
    """Return the difference of two shares over the same ``n`` questions, with Agresti and Min's interval (2005).

    Half a question is added to each cell of the paired table; Wald's interval of that table follows.
    """
    value = (only_first - only_second) / n
    first, second, all_ = only_first + 0.5, only_second + 0.5, n + 2.0
    middle = (first - second) / all_
    half = _Z * math.sqrt(max(0.0, (first + second) - (first - second) ** 2 / all_)) / all_
    return Valued(value, max(-1.0, middle - half), min(1.0, middle + half))
