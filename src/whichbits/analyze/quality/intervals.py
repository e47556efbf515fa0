"""Intervals where tokens of one text are not independent: texts are resampled, not tokens; and shares of counts."""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from whichbits.analyze.quality.measures import Valued
from whichbits.analyze.student import t_quantile
from whichbits.record.timelines import Floats

_DRAWS = 2000
_SEED = 7
_TAIL = 0.025
_Z = NormalDist().inv_cdf(1 - _TAIL)


def ratio_interval(
    sums: Sequence[float],
    counts: Sequence[float],
    strata: Sequence[str],
    shown: Callable[[float], float] = float,
) -> Valued:
    """Return sum(sums) / sum(counts) with a cluster bootstrap's interval, an entry a cluster (a text).

    Clusters are drawn with replacement within their stratum (a domain), whose number of texts was fixed. Percentiles
    are moved outwards as far as Student's t lies outside the normal for so few clusters (Hesterberg 2015, "expanded
    percentile"). ``shown`` is a rising function that the value and its ends pass through.
    """
    x, n = np.asarray(sums, dtype=float), np.asarray(counts, dtype=float)
    value = shown(float(x.sum() / n.sum()))
    freedom = x.size - len(set(strata))
    if freedom < 1:
        return Valued(value, None, None)
    drawn = _draws(np.asarray(strata))
    ratios = x[drawn].sum(axis=1) / n[drawn].sum(axis=1)
    low, high = np.quantile(ratios, _expanded(freedom))
    return Valued(value, shown(float(low)), shown(float(high)))


def _draws(strata: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
    """Return indices of clusters, shape (draws, clusters)."""
    random = np.random.default_rng(_SEED)
    places = [np.flatnonzero(strata == stratum) for stratum in dict.fromkeys(strata.tolist())]
    return np.hstack([place[random.integers(place.size, size=(_DRAWS, place.size))] for place in places])


def _expanded(freedom: int) -> tuple[float, float]:
    """Return the percentiles to take: 2.5 % and 97.5 % for very many clusters, further out for few."""
    beyond = math.sqrt((freedom + 1) / freedom) * t_quantile(1 - _TAIL, freedom)
    tail = NormalDist().cdf(-beyond)
    return tail, 1 - tail


def mean_interval(values: Sequence[float]) -> Valued:
    """Return a mean with its bootstrap interval; values are independent."""
    return ratio_interval(values, [1.0] * len(values), [""] * len(values))


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
