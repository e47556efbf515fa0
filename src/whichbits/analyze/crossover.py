"""Where two arms trade places: the sign changes of their log-ratio over the logarithm of load.

Between measured loads the log-ratio is taken as linear in log load, so that a power law is met exactly and
the result depends neither on the unit of the metric nor on which arm is named first. A load is decisive if
the arms differ there by more than ``MARGIN``; a crossing lies between two successive decisive loads with
different leaders, and what happens within the margin is no crossing.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

import numpy as np

from whichbits.analyze.load_curves import (
    MARGIN,
    METRICS,
    LoadUnit,
    curves,
    load_of,
    load_unit,
    paired,
    value_of,
    why_unusable,
)
from whichbits.analyze.summary import CellSummary, Crossing, Crossover, CrossoverVerdict, Metric
from whichbits.record.timelines import Floats, Ints


def crossovers(cells: Sequence[CellSummary], arms: Sequence[str]) -> tuple[Crossover, ...]:
    """Return every pair of arms under every compared metric, where there is a load that both served well."""
    compared = (crossover(cells, pair, metric) for metric in METRICS for pair in combinations(arms, 2))
    return tuple(found for found in compared if found.loads)


def crossover(cells: Sequence[CellSummary], arms: tuple[str, str], metric: Metric) -> Crossover:
    """Compare two arms at the loads that both served well; intervals are not estimated here."""
    unit = load_unit(cells)
    found = curves(cells, metric, unit)
    loads, (first, second) = paired([found.get(arm, {}) for arm in arms])
    log_ratio = first - second
    decisive = np.flatnonzero(np.abs(log_ratio) > np.log1p(MARGIN))
    crossings = crossings_between(loads, log_ratio, decisive)
    return Crossover(
        metric=metric,
        arms=arms,
        verdict=_verdict(loads, decisive, crossings),
        crossings=tuple(Crossing(load, None, None) for load in crossings),
        leader_low_load=_leader(arms, metric, log_ratio[decisive[:1]]),
        leader_high_load=_leader(arms, metric, log_ratio[decisive[-1:]]),
        load_unit=unit,
        loads=tuple(loads.tolist()),
        ratios=tuple(np.exp(log_ratio).tolist()),
        note="; ".join(_notes(cells, arms, metric, unit, loads)) or None,
    )


def crossings_between(loads: Floats, log_ratio: Floats, decisive: Ints) -> list[float]:
    """Return the loads at which the sign changes from one decisive point to the next."""
    return [
        zero_between(loads, log_ratio, left, right)
        for left, right in pairwise(decisive.tolist())
        if log_ratio[left] * log_ratio[right] < 0
    ]


def zero_between(loads: Floats, log_ratio: Floats, left: int, right: int) -> float:
    """Return where the log-ratio passes zero between two points of opposite sign.

    If it touches zero more than once in between, the middle of the first and the last, in log load.
    """
    x, y = np.log(loads[left : right + 1]), log_ratio[left : right + 1]
    zeros = [float(at) for at, value in zip(x, y, strict=True) if value == 0]
    for i, j in pairwise(range(len(x))):
        if y[i] * y[j] < 0:
            zeros.append(float(x[i] + (x[j] - x[i]) * y[i] / (y[i] - y[j])))
    return float(np.exp((min(zeros) + max(zeros)) / 2))


def _verdict(loads: Floats, decisive: Ints, crossings: Sequence[float]) -> CrossoverVerdict:
    if crossings:
        return "crosses"
    return "tie" if loads.size and not decisive.size else "none"


def _leader(arms: tuple[str, str], metric: Metric, log_ratio: Floats) -> str | None:
    if not log_ratio.size:
        return None
    first_is_lower = bool(log_ratio[0] < 0)
    return arms[0] if first_is_lower == METRICS[metric].lower_is_better else arms[1]


def _notes(
    cells: Sequence[CellSummary], arms: tuple[str, str], metric: Metric, unit: LoadUnit, loads: Floats
) -> Iterable[str]:
    mine = [cell for cell in cells if cell.arm in arms]
    if loads.size == 0:
        yield "no load that both arms served well"
    if loads.size == 1:
        yield f"one load only ({loads[0]:g}): a crossing elsewhere cannot be seen"
    left_out = sorted({reason for cell in mine if (reason := why_unusable(cell))})
    if left_out:
        count = sum(why_unusable(cell) is not None for cell in mine)
        yield f"{count} of {len(mine)} cells left out: {', '.join(left_out)}"
    if any(_is_thin(cell, metric) for cell in mine if load_of(cell, unit) in loads):
        yield "fewer than 10 samples beyond the percentile in some cells"


def _is_thin(cell: CellSummary, metric: Metric) -> bool:
    holder, _, percentile = metric.partition(".")
    return bool(percentile) and value_of(cell, metric) is not None and percentile in getattr(cell, holder).thin
