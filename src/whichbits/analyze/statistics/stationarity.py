"""Whether a series has settled: where its start-up ends (MSER), and whether it still rises (Mann-Kendall)."""

from functools import cache

import numpy as np

from whichbits.record.timelines import Floats

SIGNIFICANCE = 0.01
"""One series in a hundred that only wavers is taken for a rising one."""


def start_up(values: Floats) -> int:
    """Return how many leading values to leave out, at most half of them, by the marginal standard error rule.

    It leaves out d of n values where the variance of the others about their mean, divided by their number, is least:
    the standard error of what remains. Source: K. P. White, "An effective truncation heuristic for bias reduction in
    simulation output", Simulation 69(6), 1997; limited to the first half as in White, Cobb and Spratt, "A comparison
    of five steady-state truncation heuristics for simulation", Winter Simulation Conference 2000.
    """
    left_out = range(len(values) // 2 + 1)
    errors = [values[d:].var() / (len(values) - d) for d in left_out] if len(values) else [0.0]
    return int(np.argmin(errors))


def rises(values: Floats) -> bool:
    """Say whether later values are higher more often than chance allows, by Mann-Kendall's exact one-sided test.

    With fewer than five values nothing is that unlikely. Source: H. B. Mann, "Nonparametric tests against trend",
    Econometrica 13(3), 1945.
    """
    later_less_earlier = values[None, :] - values[:, None]
    falls = int(np.count_nonzero(np.triu(later_less_earlier <= 0, k=1)))
    return chance_of_falls(len(values), falls) < SIGNIFICANCE


def change(values: Floats) -> float | None:
    """Return mean of the later half / mean of the earlier half - 1; None if the earlier half is nothing."""
    half = len(values) // 2
    earlier, later = values[:half], values[len(values) - half :]
    return float(later.mean() / earlier.mean() - 1) if half and earlier.mean() else None


def chance_of_falls(values: int, falls: int) -> float:
    """Return the share of all orders of distinct values that have at most so many pairs in falling order."""
    counts = _orders_by_falls(values)
    return sum(counts[: falls + 1]) / sum(counts)


@cache
def _orders_by_falls(values: int) -> tuple[int, ...]:
    """Count the orders of distinct values by their falling pairs: the n-th value adds 0 to n - 1 to those before it."""
    if values < 2:
        return (1,)
    shorter = _orders_by_falls(values - 1)
    longest = values * (values - 1) // 2
    return tuple(sum(shorter[max(0, falls - values + 1) : falls + 1]) for falls in range(longest + 1))
