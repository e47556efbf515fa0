"""Random numbers that are the same on every machine, process and version: Philox bits and inverse transforms.

NumPy promises its bit streams, not its distributions' streams; so only raw bits are taken from it.
"""

from hashlib import sha256
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


_TINY = 1e-300


class Draws:
    """One stream of random numbers, named by the study's seed and what it is for."""

    def __init__(self, seed: int, *purpose: str | int) -> None:
        """Key the stream by a digest of seed and purpose, so that streams never overlap by accident."""
        name = "/".join(str(part) for part in (seed, *purpose))
        digest = sha256(name.encode()).digest()
        self._bits = np.random.Philox(key=int.from_bytes(digest[:16], "little"))

    def uniform(self, count: int) -> Floats:
        """Return ``count`` numbers in (0, 1), neither end included."""
        raw: NDArray[np.uint64] = np.atleast_1d(self._bits.random_raw(count))
        return ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

    def exponential(self, count: int) -> Floats:
        """Return ``count`` exponential numbers of mean 1."""
        return -np.log(self.uniform(count))

    def normal(self, count: int) -> Floats:
        """Return ``count`` standard normal numbers (Box and Muller 1958, the cosine half)."""
        return _normal(self.uniform(count), self.uniform(count))

    def gamma(self, shape: float, count: int) -> Floats:
        """Return ``count`` gamma numbers of mean 1 and coefficient of variation ``shape ** -0.5``.

        Marsaglia and Tsang 2000, "A simple method for generating gamma variables"; below 1 by its boost, Γ(shape + 1)
        times U ** (1 / shape). Shape 1 is ``exponential`` itself, number for number. More numbers begin with the same.
        """
        if shape == 1.0:
            return self.exponential(count)
        drawn = np.zeros(0)
        while drawn.size < count:
            drawn = np.concatenate([drawn, self._gammas_taken(shape, count - drawn.size)])
        return drawn[:count] / shape

    def _gammas_taken(self, shape: float, tries: int) -> Floats:
        """Return what is taken of ``tries`` candidates, each made of four uniform numbers, taken or not."""
        first, second, judge, boost = self.uniform(4 * tries).reshape(tries, 4).T
        d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
        normal = _normal(first, second)
        cube = (1.0 + normal / np.sqrt(9.0 * d)) ** 3
        # Where the cube is not positive its logarithm is not asked for.
        logarithm = np.log(np.maximum(cube, _TINY))
        taken = (cube > 0) & (np.log(judge) < 0.5 * normal**2 + d - d * cube + d * logarithm)
        boosted = boost[taken] ** (1.0 / shape) if shape < 1.0 else 1.0
        scaled: Floats = d * cube[taken] * boosted
        return scaled

    def integers(self, low: int, high: int, count: int) -> Integers:
        """Return ``count`` integers in [low, high)."""
        return low + (self.uniform(count) * (high - low)).astype(np.int64)

    def order(self, count: int) -> Integers:
        """Return a permutation of range(count)."""
        return np.argsort(self.uniform(count), kind="stable").astype(np.int64)


def _normal(radius: Floats, angle: Floats) -> Floats:
    normal: Floats = np.sqrt(-2.0 * np.log(radius)) * np.cos(2.0 * np.pi * angle)
    return normal


def normal_quantiles(count: int) -> Floats:
    """Return the standard normal's quantiles at the midpoints of ``count`` equal shares, in order."""
    standard = NormalDist()
    return np.array([standard.inv_cdf((rank + 0.5) / count) for rank in range(count)])
