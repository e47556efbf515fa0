"""One or two normals fitted to weighted points by maximum likelihood, without a random start."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from whichbits.record.timelines import Floats

_ROUNDS = 200
_CONVERGED = 1e-8
_STARTS = (0.5, 0.8, 0.95)


class Mixture(NamedTuple):
    """Normals with their shares, the lowest mean first."""

    shares: Floats
    means: Floats
    sigmas: Floats

    @property
    def free_parameters(self) -> int:
        """Mean and spread of each, and all shares but one."""
        return 3 * self.means.size - 1

    @property
    def valley(self) -> float:
        """Lowest density between two means over the density at the lower of both: 0 is two heaps, 1 is one."""
        between = np.logaddexp.reduce(self.log_densities(np.linspace(self.means[0], self.means[1], 201)), axis=0)
        return float(np.exp(between.min() - min(between[0], between[-1])))

    def log_densities(self, points: Floats) -> Floats:
        """Return ln(share x density) with a row a normal."""
        return _log_densities(*self, points)

    def log_likelihood(self, points: Floats, weights: Floats) -> float:
        """Return the sum over the points, each ``weights`` times there."""
        return float(weights @ np.logaddexp.reduce(self.log_densities(points), axis=0))

    def bic(self, points: Floats, weights: Floats) -> float:
        """Return Schwarz's criterion, the lower the better: parameters x ln(n) - 2 ln(likelihood)."""
        return self.free_parameters * float(np.log(weights.sum())) - 2 * self.log_likelihood(points, weights)


def one_normal(points: Floats, weights: Floats, narrowest: float) -> Mixture:
    """Fit one normal."""
    return _maximised(np.ones((1, 1, points.size)), points, weights, narrowest).mixture(0)


def two_normals(points: Floats, weights: Floats, narrowest: float) -> Mixture:
    """Fit two by expectation maximisation; ``points`` ascend, and no spread gets below ``narrowest``.

    It starts from cuts at the median and towards the upper end, where a rare second kind would be, and from the cut
    that separates best; the likeliest outcome counts.
    """
    cumulated = np.cumsum(weights) / weights.sum()
    cuts = {int(np.searchsorted(cumulated, share)) for share in _STARTS} | {_otsu(points, weights)}
    ends = _expectation_maximisation([_cut(points, cut) for cut in sorted(cuts)], points, weights, narrowest)
    best = max(ends, key=lambda end: end.log_likelihood(points, weights))
    order = np.argsort(best.means, kind="stable")
    return Mixture(best.shares[order], best.means[order], best.sigmas[order])


def _cut(points: Floats, cut: int) -> Floats:
    """Give the points up to index ``cut`` to the first normal, the rest to the second, each a little of both."""
    first = np.where(np.arange(points.size) <= cut, 0.99, 0.01)
    return np.stack([first, 1 - first])


def _otsu(points: Floats, weights: Floats) -> int:
    """Return the cut with the largest variance between both sides (N. Otsu, IEEE SMC 9, 1979)."""
    below = np.cumsum(weights)[:-1]
    sums = np.cumsum(weights * points)
    above = weights.sum() - below
    between = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
    return int(np.argmax(between)) if between.size else 0


def _expectation_maximisation(
    starts: Sequence[Floats], points: Floats, weights: Floats, narrowest: float
) -> list[Mixture]:
    """Return the end of each start; all take their rounds together, and each leaves where it has converged."""
    found = _maximised(np.stack(starts), points, weights, narrowest)
    open_, reached = list(range(len(starts))), np.full(len(starts), -np.inf)
    for _ in range(_ROUNDS):
        densities = found.of(open_).log_densities(points)
        total = np.logaddexp(densities[:, 0], densities[:, 1])
        likelihoods = np.array([weights @ each for each in total])
        goes_on = likelihoods - reached[open_] >= _CONVERGED * np.abs(likelihoods)
        reached[open_] = likelihoods
        open_ = [start for start, goes in zip(open_, goes_on.tolist(), strict=True) if goes]
        if not open_:
            break
        belongs = np.exp(densities[goes_on] - total[goes_on, None])
        found.put(open_, _maximised(belongs, points, weights, narrowest))
    return [found.mixture(start) for start in range(len(starts))]


class _Mixtures(NamedTuple):
    """Mixtures of two side by side, arrays of shape (mixtures, 2)."""

    shares: Floats
    means: Floats
    sigmas: Floats

    def of(self, chosen: Sequence[int]) -> "_Mixtures":
        return _Mixtures(self.shares[chosen], self.means[chosen], self.sigmas[chosen])

    def put(self, chosen: Sequence[int], found: "_Mixtures") -> None:
        for mine, new in zip(self, found, strict=True):
            mine[chosen] = new

    def mixture(self, at: int) -> Mixture:
        return Mixture(self.shares[at], self.means[at], self.sigmas[at])

    def log_densities(self, points: Floats) -> Floats:
        return _log_densities(*self, points)


def _log_densities(shares: Floats, means: Floats, sigmas: Floats, points: Floats) -> Floats:
    """Return ln(share x density), with an axis of the points behind those of the normals."""
    offset = (points - means[..., None]) / sigmas[..., None]
    scale = np.log(shares / (sigmas * np.sqrt(2 * np.pi)))
    weighted: Floats = scale[..., None] - offset**2 / 2
    return weighted


def _maximised(belongs: Floats, points: Floats, weights: Floats, narrowest: float) -> _Mixtures:
    """Return the likeliest normals; ``belongs``, shape (mixtures, normals, points), gives each its share of a point."""
    masses = belongs * weights
    totals = np.maximum(masses.sum(axis=-1), np.finfo(np.float64).tiny)
    means = masses @ points / totals
    spreads = (masses * (points - means[..., None]) ** 2).sum(axis=-1) / totals
    shares = totals / totals.sum(axis=-1, keepdims=True)
    return _Mixtures(shares, means, np.maximum(np.sqrt(spreads), narrowest))
