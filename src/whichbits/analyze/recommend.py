"""Which arm to serve in which range of load: the best arm of all, for one metric at a time.

The answer names the fewest ranges in which the arm of the range is nowhere worse than the best by more than
``MARGIN``: whoever is level with the best stays, so noise does not make arms take turns.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from whichbits.analyze.crossover import zero_between
from whichbits.analyze.load_curves import MARGIN, METRICS, LoadUnit, curves, load_unit, load_words, paired
from whichbits.analyze.summary import CellSummary, Metric, Recommendation
from whichbits.record.timelines import Floats

Range = tuple[str, float | None, float | None]

_UNITS: dict[LoadUnit, str] = {"concurrency": "concurrent requests", "request_rate": "requests/s"}


def recommendations(cells: Sequence[CellSummary], arms: Sequence[str]) -> tuple[Recommendation, ...]:
    """Return an answer for each metric that at least two arms have at a common load."""
    answers = (recommend(cells, arms, metric) for metric in METRICS)
    return tuple(answer for answer in answers if answer is not None)


def recommend(cells: Sequence[CellSummary], arms: Sequence[str], metric: Metric) -> Recommendation | None:
    """Compare all arms that have usable cells, at the loads that all of these share."""
    unit = load_unit(cells)
    found = curves(cells, metric, unit)
    compared = [arm for arm in arms if arm in found]
    if len(compared) < 2:
        return None
    loads, logs = paired([found[arm] for arm in compared])
    if loads.size == 0:
        return None
    cost = logs if METRICS[metric].lower_is_better else -logs
    ranges = () if _all_level(cost) else _ranges(compared, loads, cost)
    without = [arm for arm in arms if arm not in found]
    return Recommendation(metric, ranges, _text(metric, ranges, loads, unit, without))


def _all_level(cost: Floats) -> bool:
    return bool((np.ptp(cost, axis=0) <= np.log1p(MARGIN)).all())


def _ranges(arms: Sequence[str], loads: Floats, cost: Floats) -> tuple[Range, ...]:
    """Cover the loads greedily, each time with the arm that stays level with the best for longest."""
    level = cost <= cost.min(axis=0) + np.log1p(MARGIN)
    chosen: list[int] = []
    bounds: list[float | None] = [None]
    at = 0
    while at < loads.size:
        arm, end = _longest(level, cost, at)
        if chosen:
            bounds.append(_handover(loads, cost[chosen[-1]] - cost[arm], at))
        chosen.append(arm)
        at = end
    bounds.append(None)
    return tuple((arms[arm], bounds[i], bounds[i + 1]) for i, arm in enumerate(chosen))


def _longest(level: npt.NDArray[np.bool_], cost: Floats, at: int) -> tuple[int, int]:
    """Return the arm that is level from ``at`` on for most loads, and the first load at which it is not.

    Of several, the one with the lowest mean cost there.
    """
    ends = [at + int(np.argmin([*row[at:], False])) for row in level]
    arm = min(range(len(ends)), key=lambda arm: (-ends[arm], cost[arm, at : max(ends)].mean()))
    return arm, ends[arm]


def _handover(loads: Floats, lead: Floats, at: int) -> float:
    """Return the load at which the next arm passes the last; ``lead`` is negative where the last was better.

    There is such a point: had the next arm been level all along, it would have been chosen before.
    """
    last_ahead = int(np.flatnonzero(lead[:at] < 0)[-1])
    return zero_between(loads, lead, last_ahead, at)


def _text(metric: Metric, ranges: Sequence[Range], loads: Floats, unit: LoadUnit, without: Sequence[str]) -> str:
    name, words = METRICS[metric].name, _UNITS[unit]
    measured = f"{loads[0]:g}" if loads.size == 1 else f"{loads[0]:g} to {loads[-1]:g}"
    missing = f"; no usable cells of {', '.join(without)}" if without else ""
    if not ranges:
        return f"{name}: no arm ahead by more than {MARGIN:.0%} (measured at {measured} {words}{missing})"
    if len(ranges) == 1:
        return f"{name}: {ranges[0][0]} throughout (measured at {measured} {words}{missing})"
    first, *between, last = ranges
    parts = [f"{first[0]} up to {load_words(first[2])} {words}"]
    parts += [f"{arm} from there to {load_words(end)}" for arm, _, end in between]
    parts.append(f"{last[0]} beyond")
    return f"{name}: {', '.join(parts)} (measured {measured}{missing})"
