"""What a comparison of so few repeats cannot show, whatever it measures: that two sides are equal within the margin."""

from dataclasses import dataclass

import numpy as np

from whichbits.analyze.crossings.bands import SPREAD, SPREAD_DF
from whichbits.analyze.crossings.decision import ALPHA, MOST_REPEATS
from whichbits.analyze.statistics.student import t_quantile


@dataclass(frozen=True)
class Coarse:
    """``reach``: how far, at best, an interval of so many repeats lies from its ratio, less 1, as 0.057."""

    repeats: int
    reach: float
    needed: int | None
    """The fewest repeats that can show two sides equal; None if more than anybody would take."""


def coarse(repeats: int, loads: int, margin: float) -> Coarse | None:
    """Return what keeps any row of a comparison from being equal; None if nothing does, or nothing is compared."""
    if not repeats or best_reach(repeats, loads) <= margin:
        return None
    more = range(repeats + 1, MOST_REPEATS + 1)
    needed = next((count for count in more if best_reach(count, loads) <= margin), None)
    return Coarse(repeats, best_reach(repeats, loads), needed)


def best_reach(repeats: int, loads: int) -> float:
    """Return how far an interval reaches above its ratio where requests and repeats show no noise at all.

    What is left is the assumed spread between repeats, as [bands][whichbits.analyze.crossings.bands.bands] moderates
    it: each repeat beyond the first is a degree of freedom at each load.
    """
    df = SPREAD_DF + loads * (repeats - 1)
    error = SPREAD * np.sqrt(SPREAD_DF / df / repeats)
    return float(np.expm1(t_quantile(1 - ALPHA / 2, df) * error))
