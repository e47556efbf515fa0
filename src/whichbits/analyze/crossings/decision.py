"""What the bands around a log-ratio allow to be said: where arms trade places, who leads, or that nobody can tell.

A load is decisive if one arm leads there by more than the margin in the estimate and beyond doubt: the chance of
taking noise for a lead at any of the loads is 5 %. A crossing lies between two successive decisive loads with
different leaders. So of studies without one, at most 5 % claim one.
"""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whichbits.analyze.crossings.bands import Bands
from whichbits.analyze.summary import CrossoverVerdict
from whichbits.record.timelines import Floats, Ints

ALPHA = 0.05
MOST_REPEATS = 100
"""Nobody repeats a sweep more often; beyond it, no number of repeats is named."""

_STEPS = 400


@dataclass(frozen=True)
class Zero:
    """A crossing of the mean, as log load, and the range in which the curve may be zero."""

    log_load: float
    low: float
    high: float


@dataclass(frozen=True)
class Decision:
    """What is known of two arms over load; ``decisive`` are indices of loads."""

    verdict: CrossoverVerdict
    zeros: tuple[Zero, ...]
    decisive: Ints


def decide(bands: Bands, margin: float) -> Decision:
    """Judge an estimate; ``margin`` is the ratio, less 1, within which arms are taken as equal."""
    decisive = decisive_loads(bands, margin)
    pairs = changes_of_sign(bands.mean, decisive)
    zeros = tuple(zero(bands, left, right) for left, right in pairs)
    return Decision(_verdict(bands, margin, decisive, crosses=bool(zeros)), zeros, decisive)


def decisive_loads(bands: Bands, margin: float) -> Ints:
    """Return the loads at which one arm leads beyond doubt and beyond the margin."""
    return np.flatnonzero((np.abs(bands.mean) > np.log1p(margin)) & (np.abs(bands.mean) > doubt(bands)))


def doubt(bands: Bands) -> Floats:
    """Return how large an estimate must be to be a lead: by Bonferroni over the loads, and outside its own interval."""
    of_all = bands.critical(ALPHA / bands.mean.size) * bands.standard_error
    return np.asarray(np.maximum(of_all, bands.reach(ALPHA / 2)), dtype=np.float64)


def changes_of_sign(mean: Floats, decisive: Ints) -> list[tuple[int, int]]:
    """Return successive decisive loads with different leaders."""
    return [(left, right) for left, right in pairwise(decisive.tolist()) if mean[left] * mean[right] < 0]


def zero(bands: Bands, left: int, right: int) -> Zero:
    """Return the crossing between two decisive loads with its 95 % interval.

    The interval holds every load at which a test does not reject that the curve is zero there (Fieller 1954, by
    inversion of the test): from where the left arm's lead is first in doubt to where the right arm's last is. Single
    numbers without their requests say nothing of their own noise: then it is all that lies between the two loads.
    """
    grid = np.linspace(bands.log_load[left], bands.log_load[right], _STEPS)
    estimate, reach = bands.at(grid, ALPHA / 2)
    in_doubt = np.flatnonzero(np.abs(estimate) <= reach)
    at = zero_between(bands.log_load, bands.mean, left, right)
    if not bands.resampled and bands.repeats.max() == 1:
        return Zero(at, float(bands.log_load[left]), float(bands.log_load[right]))
    if not in_doubt.size:  # the noise is finer than the grid
        return Zero(at, at, at)
    before, after = max(in_doubt[0] - 1, 0), min(in_doubt[-1] + 1, grid.size - 1)
    return Zero(at, float(grid[before]), float(grid[after]))


def zero_between(x: Floats, y: Floats, left: int, right: int) -> float:
    """Return the x at which straight lines through the points pass zero between two points of opposite sign.

    If they touch zero more than once in between, the middle of the first and the last.
    """
    x, y = x[left : right + 1], y[left : right + 1]
    zeros = [float(at) for at, value in zip(x, y, strict=True) if value == 0]
    for i, j in pairwise(range(len(x))):
        if y[i] * y[j] < 0:
            zeros.append(float(x[i] + (x[j] - x[i]) * y[i] / (y[i] - y[j])))
    return (min(zeros) + max(zeros)) / 2


def _verdict(bands: Bands, margin: float, decisive: Ints, *, crosses: bool) -> CrossoverVerdict:
    """Return a tie only if both arms are shown to be level at every load (two one-sided tests, Schuirmann 1987).

    A lead is a "none" only if nowhere in the range the other arm may be ahead by more than the margin.
    """
    if crosses:
        return "crosses"
    reach = bands.critical(ALPHA) * bands.standard_error
    low, high = bands.mean - reach > -np.log1p(margin), bands.mean + reach < np.log1p(margin)
    if (low & high).all():
        return "tie"
    leads = np.sign(bands.mean[decisive]).tolist()
    kept = {1.0: low, -1.0: high}
    return "none" if leads and kept[leads[0]].all() else "noisy"


def repeats_needed(bands: Bands, margin: float) -> int | None:
    """Return how many repeats in all would settle a noisy comparison if estimates and spread stayed as they are.

    None if more than ``MOST_REPEATS`` would not. With more repeats bounds only draw nearer to the estimates, so that a
    comparison once settled stays so, and halving finds the first.
    """
    counts = range(int(bands.repeats.max()) + 1, MOST_REPEATS + 1)
    at = bisect_left(counts, True, key=lambda count: settled(bands.with_repeats(count), margin))
    return counts[at] if at < len(counts) else None


def settled(bands: Bands, margin: float) -> bool:
    """Say whether the bands allow any verdict."""
    return decide(bands, margin).verdict != "noisy"


def ratio_intervals(bands: Bands) -> tuple[tuple[float, float], ...]:
    """Return the 95 % interval of the ratio at each load."""
    reach = bands.reach(ALPHA / 2)
    low, high = np.exp(bands.mean - reach).tolist(), np.exp(bands.mean + reach).tolist()
    return tuple(zip(low, high, strict=True))
