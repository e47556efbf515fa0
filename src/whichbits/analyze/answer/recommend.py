"""Which arm to serve in which range of load: the best arm of all, for one metric at a time.

The answer names the fewest ranges in which the arm of the range is nowhere worse than the best by more than
``MARGIN``: whoever is level with the best stays, so noise does not make arms take turns. How well a handover is placed
is read from the crossing of the two arms.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whichbits.analyze.crossings.decision import zero_between
from whichbits.analyze.curves.load_curves import (
    HEADLINES,
    MARGIN,
    METRICS,
    AxisUnit,
    curves,
    load_unit,
    load_words,
    paired,
    range_words,
)
from whichbits.analyze.summary import CellSummary, Crossover, Metric, Recommendation
from whichbits.language.phrase import Phrase, joined, phrase
from whichbits.record.timelines import Floats

Range = tuple[str, float | None, float | None]
Interval = tuple[float, float]

_UNITS: dict[AxisUnit, str] = {"concurrency": phrase(" concurrent requests"), "request_rate": phrase(" requests/s")}


def recommendations(
    cells: Sequence[CellSummary], arms: Sequence[str], crossovers: Sequence[Crossover] = ()
) -> tuple[Recommendation, ...]:
    """Return an answer for each headline metric that at least two arms have at a common load."""
    answers = (recommend(cells, arms, metric, crossovers) for metric in HEADLINES)
    return tuple(answer for answer in answers if answer is not None)


def recommend(
    cells: Sequence[CellSummary], arms: Sequence[str], metric: Metric, crossovers: Sequence[Crossover] = ()
) -> Recommendation | None:
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
    mine = [crossover for crossover in crossovers if crossover.metric == metric]
    uncertain = tuple(_uncertain(before, after, mine) for before, after in pairwise(ranges))
    measured = (
        f"{loads[0]:g}" if loads.size == 1 else phrase("{loads:g} to {loads_2:g}", loads=loads[0], loads_2=loads[-1])
    )
    missing = phrase("; no usable cells of {list}", list=joined(", ", without)) if without else ""
    named = [phrase("{arm}{doubt}", arm=each[0], doubt=_doubt(each, compared, mine)) for each in ranges]
    text = _text(METRICS[metric].name, ranges, named, uncertain, _Scope(_UNITS[unit], measured, missing))
    return Recommendation(metric, ranges, text, uncertain)


def _uncertain(before: Range, after: Range, crossovers: Sequence[Crossover]) -> Interval | None:
    """Return within which loads the two arms of a handover may trade places, None if they are not known to."""
    pair = {before[0], after[0]}
    crossings = [crossing for each in crossovers if set(each.arms) == pair for crossing in each.crossings]
    around = [
        (crossing.low, crossing.high)
        for crossing in crossings
        if crossing.low is not None and crossing.high is not None and crossing.low <= (after[1] or 0) <= crossing.high
    ]
    return around[0] if around else None


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
    return float(np.exp(zero_between(np.log(loads), lead, last_ahead, at)))


def _doubt(found: Range, arms: Sequence[str], crossovers: Sequence[Crossover]) -> str:
    """Return, in parentheses, the arms that the range's arm is nowhere in it shown to be better than."""
    others = [arm for arm in arms if arm != found[0]]
    level = [arm for arm in others if not _told_apart(found, arm, crossovers)]
    if not level or not crossovers:
        return ""
    return (
        phrase(" (not told apart from any other)")
        if level == others
        else phrase(" (not told apart from {list})", list=joined(", ", level))
    )


def _told_apart(found: Range, other: str, crossovers: Sequence[Crossover]) -> bool:
    """Whether the interval of the two arms' ratio leaves out 1 at some load of the range, in its arm's favour."""
    arm, low, high = found
    for each in crossovers:
        if set(each.arms) != {arm, other}:
            continue
        for load, (lowest, highest) in zip(each.loads, each.ratio_intervals, strict=False):
            within = (low is None or load >= low) and (high is None or load <= high)
            first_leads = highest < 1 if METRICS[each.metric].lower_is_better else lowest > 1
            second_leads = lowest > 1 if METRICS[each.metric].lower_is_better else highest < 1
            if within and (first_leads if each.arms[0] == arm else second_leads):
                return True
    return False


class _Scope(NamedTuple):
    unit: str
    measured: str
    missing: str


def _text(
    metric: str,
    ranges: Sequence[Range],
    named: Sequence[str],
    uncertain: Sequence[Interval | None],
    scope: _Scope,
) -> Phrase:
    """Return the sentence; reports leave out its fields ``title``, ``scope`` and ``unit`` where these stand above it.

    A scope that names arms without usable cells is said of no other metric, so it has a name of its own.
    """
    title, claim = phrase("{metric}: ", metric=metric), _claim(ranges, named, uncertain, scope)
    said = (
        phrase(" (measured {measured}{missing})", measured=scope.measured, missing=scope.missing)
        if len(ranges) > 1
        else phrase(
            " (measured at {measured}{unit}{missing})",
            measured=scope.measured,
            unit=scope.unit,
            missing=scope.missing,
        )
    )
    if scope.missing:
        return phrase("{title}{claim}{scope_with_gaps}", title=title, claim=claim, scope_with_gaps=said)
    return phrase("{title}{claim}{scope}", title=title, claim=claim, scope=said)


def _claim(ranges: Sequence[Range], named: Sequence[str], uncertain: Sequence[Interval | None], scope: _Scope) -> str:
    if not ranges:
        return phrase("no arm ahead by more than {margin:.0%}", margin=MARGIN)
    if len(ranges) == 1:
        return named[0] if " to " not in scope.measured else phrase("{arm} throughout", arm=named[0])
    first, *between, last = named
    ends = [_end(arm[2], interval, scope.unit) for arm, interval in zip(ranges, uncertain, strict=False)]
    parts = [phrase("{arm} up to {end}", arm=first, end=ends[0])]
    parts += [phrase("{arm} from there to {end}", arm=arm, end=end) for arm, end in zip(between, ends[1:], strict=True)]
    return joined(", ", [*parts, phrase("{arm} beyond", arm=last)])


def _end(load: float | None, interval: Interval | None, unit: str) -> str:
    """Return a handover with the loads at which either arm may be the better, or as a mere estimate."""
    if interval is None:
        return phrase("about {load}{unit}", load=load_words(load), unit=unit)
    return phrase(
        "{load}{unit} (either within {interval})", load=load_words(load), unit=unit, interval=range_words(interval)
    )
