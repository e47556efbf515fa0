"""Whether the gaps between tokens come in two kinds, and how long each is.

A step that also prefills a neighbour's prompt takes longer than one that only decodes. Where it takes much longer, the
mean lies between two heaps, where hardly any gap is, and the median jumps from one heap to the other as the share of
long gaps passes half.
"""

from dataclasses import dataclass

import numpy as np

from whichbits.analyze.statistics.normal_mixture import Mixture, one_normal, two_normals
from whichbits.record.timelines import Floats

_BINS = 400
_NARROWEST = 0.02
"""Smallest spread of ln(gap) of one kind: clocks and networks blur more than that."""
_DEEPEST_OF_ONE = 0.5
_FEWEST = 20


@dataclass(frozen=True)
class ItlMode:
    """One kind of gap: its share of all gaps, its middle (median and geometric mean) and the spread of ln(gap)."""

    share: float
    center_ms: float
    sigma: float


@dataclass(frozen=True)
class ItlModes:
    """The kinds of gaps, the shorter first: one, or two if the gaps clearly fall into two heaps."""

    n: int
    modes: tuple[ItlMode, ...]
    split_ms: float | None
    """Length from which on a gap is likelier of the longer kind; None if there is one kind."""
    long_time_share: float | None
    """Share of all time between tokens that passes in gaps longer than that."""


def itl_modes(gaps_ms: Floats) -> ItlModes | None:
    """Fit one log-normal and a mixture of two; None if fewer than 20 gaps are longer than 0.

    Two kinds are reported if the Bayesian information criterion prefers them, and if between their middles the density
    falls below half of what it is at the lower of both. Without a valley, any heap that is not log-normal is two.
    """
    gaps = np.sort(gaps_ms[gaps_ms > 0])  # so that sums do not depend on an order
    if gaps.size < _FEWEST:
        return None
    points, weights = _binned(np.log(gaps))
    one, two = one_normal(points, weights, _NARROWEST), two_normals(points, weights, _NARROWEST)
    if two.valley > _DEEPEST_OF_ONE or two.bic(points, weights) >= one.bic(points, weights):
        return ItlModes(gaps.size, _modes(one), None, None)
    split = float(np.exp(_crossing(two)))
    return ItlModes(gaps.size, _modes(two), split, float(gaps[gaps > split].sum() / gaps.sum()))


def _binned(ordered: Floats) -> tuple[Floats, Floats]:
    """Return the middles of bins that hold anything, and how many: a million gaps cost no more than a thousand."""
    edges = np.histogram_bin_edges(ordered, bins=_BINS)
    counts = np.diff(np.append(np.searchsorted(ordered, edges[:-1]), ordered.size))  # as np.histogram, but sorted
    held = counts > 0
    middles: Floats = ((edges[1:] + edges[:-1]) / 2)[held]
    return middles, counts[held].astype(np.float64)


def _modes(mixture: Mixture) -> tuple[ItlMode, ...]:
    parts = zip(mixture.shares.tolist(), np.exp(mixture.means).tolist(), mixture.sigmas.tolist(), strict=True)
    return tuple(ItlMode(*part) for part in parts)


def _crossing(two: Mixture) -> float:
    """Return where, between both means, the second normal begins to outweigh the first."""
    between = np.linspace(two.means[0], two.means[1], 2001)
    first, second = two.log_densities(between)
    return float(between[np.argmax(second > first)])
