"""How well the log-ratio of two arms is known at every load, measured or between measured ones.

The model: log-ratio = curve(load) + what a repeat shifts + what the requests of a cell leave open. The last is known
from resampling requests; the shift of repeats is learnt from repeats, all loads together, around a stated prior.
Between loads the curve is linear in log load, give or take the curvature that the points themselves show.
"""

from dataclasses import dataclass, replace

import numpy as np

from whichbits.analyze.statistics.student import t_quantile
from whichbits.record.timelines import Floats

SPREAD = 0.02
"""Standard deviation of a log-ratio between repeats, as assumed until repeats say otherwise."""

SPREAD_DF = 4.0
"""How many degrees of freedom the assumption is worth: it gives way soon, and its own doubt widens intervals."""

OWN_DF = 2.0
"""How many degrees of freedom all loads together are worth where one load's own repeats are asked how they differ."""

_SHARED = 0.5
"""Of the assumed variance, the share that a repeat lays on all its loads alike (a restart, a warmer machine)."""


@dataclass(frozen=True)
class LogRatios:
    """Log-ratios of two arms: ``values`` and their ``variances`` by resampling have shape (loads, repeats).

    NaN is a cell that is not there, or a variance that is not known.
    """

    log_load: Floats
    values: Floats
    variances: Floats
    apart: bool = False
    """True if no two values come from one visit of an arm, so that no shift is shared between loads."""

    @property
    def repeats(self) -> int:
        """Return the most repeats of a load."""
        return int((~np.isnan(self.values)).sum(axis=1).max(initial=0))


@dataclass(frozen=True)
class Bands:
    """Estimates at the measured loads, arrays of shape (loads,), and what joins them."""

    log_load: Floats
    mean: Floats
    deviation: Floats
    """Standard deviation of a single repeat at each load."""
    repeats: Floats
    df: float
    shared: float
    """Correlation between loads of what repeats shift."""
    curvature: float
    own_square: Floats
    """Mean square of each load's own deviations, over what is expected there before any repeat is met; NaN for one."""
    expected: Floats
    """Standard deviation of a single repeat that is expected at each load before any repeat is met."""
    resampled: bool = True
    """False if nothing is known of what the requests of a cell leave open."""

    @property
    def standard_error(self) -> Floats:
        """Return the standard error of ``mean``."""
        return self.deviation / np.sqrt(self.repeats)

    def at(self, log_load: Floats, beyond: float) -> tuple[Floats, Floats]:
        """Return the estimate at any loads within the measured range, and how far it may be off.

        A bound is passed with the probability ``beyond``: noise, and the bend of the curve between loads, which adds
        in quadrature as it is bounded but of unknown sign.
        """
        left = np.clip(np.searchsorted(self.log_load, log_load, side="right") - 1, 0, max(0, self.log_load.size - 2))
        right = np.minimum(left + 1, self.log_load.size - 1)
        step = np.where(right > left, self.log_load[right] - self.log_load[left], 1.0)
        share = (log_load - self.log_load[left]) / step
        error = self.standard_error
        near, far = (1 - share) * error[left], share * error[right]
        bend = self.curvature * share * (1 - share) * step**2 / 2
        variance = near**2 + far**2 + 2 * self.shared * near * far
        reach = np.sqrt(self.critical(beyond) ** 2 * variance + bend**2)
        return (1 - share) * self.mean[left] + share * self.mean[right], reach

    def reach(self, beyond: float) -> Floats:
        """Return how far the estimate at each measured load may be off; a bound is passed with the probability.

        All loads together tell how much repeats differ, unless a load's own differ more: near saturation, they do.
        A load's own mean square is moderated by the pool's, which counts as ``OWN_DF`` degrees of freedom.
        """
        pooled = self.critical(beyond) * self.standard_error
        own_df = self.repeats - 1
        pool = (self.deviation / self.expected) ** 2
        square = (OWN_DF * pool + own_df * self.own_square) / (OWN_DF + own_df)
        quantiles = np.array([t_quantile(1 - beyond, OWN_DF + df) for df in own_df.tolist()])
        own = quantiles * np.sqrt(square / self.repeats) * self.expected
        return np.asarray(np.where(self.own_square > pool, np.maximum(pooled, own), pooled), dtype=np.float64)

    def with_repeats(self, repeats: int) -> "Bands":
        """Return the bands that this many repeats would give, if they showed the same means and spread."""
        more = self.log_load.size * (repeats - 1) * (1 - self.shared) + (repeats - 1) * self.shared
        return replace(self, repeats=np.full(self.repeats.shape, float(repeats)), df=SPREAD_DF + more)

    def critical(self, beyond: float) -> float:
        """Return how many standard errors lie between the estimate and a bound passed with this probability."""
        return t_quantile(1 - beyond, round(self.df, 1))


def bands(ratios: LogRatios) -> Bands:
    """Estimate the mean at each load and how far it may be off.

    Deviations from a load's mean are held against what the assumed spread and the resampling let expect. Their mean
    square, moderated by the assumption (Smyth 2004: a prior worth ``SPREAD_DF``), scales all variances. Its degrees
    of freedom follow Satterthwaite, as a repeat that shifts all loads alike shows that only once.
    """
    mean = np.nanmean(ratios.values, axis=1)
    repeats = (~np.isnan(ratios.values)).sum(axis=1).astype(np.float64)
    expected = SPREAD**2 + _mean_known(ratios.variances)
    scaled = (ratios.values - mean[:, None]) / np.sqrt(expected)[:, None]
    square, df, shared = _of_single_cells(scaled) if ratios.apart else _dispersion(scaled)
    scale = (SPREAD_DF + df * square) / (SPREAD_DF + df)
    deviation = np.sqrt(scale * expected)
    found = Bands(
        log_load=ratios.log_load,
        mean=mean,
        deviation=deviation,
        repeats=repeats,
        df=SPREAD_DF + df,
        shared=0.0 if ratios.apart else (SPREAD_DF * _SHARED + df * shared) / (SPREAD_DF + df),
        curvature=0.0,
        own_square=_own_square(scaled, repeats),
        expected=np.sqrt(expected),
        resampled=not np.isnan(ratios.variances).all(),
    )
    return replace(found, curvature=_curvature(found))


def _own_square(scaled: Floats, repeats: Floats) -> Floats:
    return np.where(repeats > 1, np.nansum(scaled**2, axis=1) / np.maximum(repeats - 1, 1), np.nan)


def _mean_known(variances: Floats) -> Floats:
    known = ~np.isnan(variances)
    total = np.where(known, variances, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(known.sum(axis=1), 1), dtype=np.float64)


def _of_single_cells(scaled: Floats) -> tuple[float, float, float]:
    """Return the same as ``_dispersion`` where every cell is shifted on its own."""
    freedom = float((~np.isnan(scaled)).sum() - len(scaled))
    return float(np.nansum(scaled**2)) / max(freedom, 1.0), freedom, 0.0


def _dispersion(scaled: Floats) -> tuple[float, float, float]:
    """Return mean square, degrees of freedom and correlation between loads of deviations (loads, repeats)."""
    freedom = float((~np.isnan(scaled)).sum() - len(scaled))
    if freedom <= 0:
        return 1.0, 0.0, _SHARED
    square = float(np.nansum(scaled**2)) / freedom
    loads, repeats = scaled.shape
    if np.isnan(scaled).any() or loads == 1 or square == 0:
        # Loads that lack repeats: count only what is sure, one value a repeat.
        return square, min(freedom, repeats - 1.0), _SHARED
    of_repeats = loads * float((scaled.mean(axis=0) ** 2).sum()) / (repeats - 1)
    rest = (square * loads * (repeats - 1) - of_repeats * (repeats - 1)) / ((loads - 1) * (repeats - 1))
    df = (square * loads) ** 2 * (repeats - 1) / (of_repeats**2 + (loads - 1) * rest**2)
    return square, df, float(np.clip((of_repeats - rest) / (square * loads), 0, 1))


def _curvature(found: Bands) -> float:
    """Return the root mean square second derivative over log load, less what noise alone would show; 0 for < 3 loads.

    Three points give one second derivative: twice their second divided difference.
    """
    x = found.log_load
    if x.size < 3:
        return 0.0
    before, after, both = x[1:-1] - x[:-2], x[2:] - x[1:-1], x[2:] - x[:-2]
    weights = 2 * np.stack([1 / (before * both), -1 / (before * after), 1 / (after * both)])
    around = np.stack([found.mean[:-2], found.mean[1:-1], found.mean[2:]])
    errors = np.stack([found.standard_error[at : x.size - 2 + at] for at in range(3)])
    noise = (weights**2 * errors**2).sum(axis=0) * (1 - found.shared)
    bends = (weights * around).sum(axis=0)
    return float(np.sqrt(max(0.0, (bends**2 - noise).mean())))
