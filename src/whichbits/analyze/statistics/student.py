"""Quantiles of Student's t, so that the base install needs no scipy."""

from functools import cache, lru_cache

import numpy as np

from whichbits.record.timelines import Floats

_STEPS = 4_001


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Return the point that t stays below with this probability; to four digits for df >= 2.

    With ``t = sqrt(df) tan(angle)`` the density is ``cos(angle) ** (df - 1)``: bounded, on a bounded range, so that
    the trapezoid rule serves even where t has no mean.
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    angle, cosine = _angles()
    density = cosine ** (df - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    found = np.interp(2 * probability - 1, area / area[-1], angle)
    return float(np.sqrt(df) * np.tan(found))


@cache
def _angles() -> tuple[Floats, Floats]:
    """Return the angles of the trapezoid rule, and their cosines."""
    angle = np.linspace(0, np.pi / 2, _STEPS)
    return angle, np.cos(angle)
