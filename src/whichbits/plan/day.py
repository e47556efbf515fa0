"""Requests per second in each hour of a day: as given, along a smooth curve, or as a trace had them."""

from collections.abc import Sequence
from math import cos, pi

import numpy as np

from whichbits.errors import BadInput
from whichbits.study.fleet import Day

HOURS = 24
_HOUR_S = 3600.0


def hourly_rates(day: Day, arrivals_s: Sequence[float] = ()) -> tuple[float, ...]:
    """Return the rate of each hour, growth included.

    Raises:
        BadInput: ``day_unknown`` if neither the day nor a trace of a day or more says what comes when.
    """
    if day.rates is not None:
        rates = day.rates
    elif day.peak is not None:
        rates = tuple(day.peak * _share(day, hour) for hour in range(HOURS))
    else:
        rates = _of_trace(arrivals_s)
    return tuple(rate * day.growth for rate in rates)


def _share(day: Day, hour: int) -> float:
    """Return an hour's share of the peak: a cosine between the trough and one."""
    wave = (1 + cos(2 * pi * (hour - day.peak_hour) / HOURS)) / 2
    return day.trough + (1 - day.trough) * wave


def _of_trace(arrivals_s: Sequence[float]) -> tuple[float, ...]:
    """Return the mean rate of each hour of the day over the days that a trace covers."""
    if not len(arrivals_s) or max(arrivals_s) - min(arrivals_s) < (HOURS - 1) * _HOUR_S:
        raise BadInput(
            "day_unknown",
            "nothing says how many requests come in each hour of the day",
            why="`plan.day` has neither `rates` nor a `peak`, and there is no trace of a day or more",
            fix="add `day: {peak: 20}` for a smooth curve, or `day: {rates: [...]}` with 24 rates",
        )
    hours = np.floor(np.asarray(arrivals_s) / _HOUR_S).astype(int)
    covered = np.bincount(np.arange(hours.min(), hours.max() + 1) % HOURS, minlength=HOURS)
    counted = np.bincount(hours % HOURS, minlength=HOURS)
    return tuple((counted / np.maximum(covered, 1) / _HOUR_S).tolist())
