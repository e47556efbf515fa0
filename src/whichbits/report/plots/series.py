"""The points, crossings and label places behind a chart, as plain rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from whichbits.analyze.summary import Summary
from whichbits.report.cells.measures import Measure
from whichbits.report.wording import load_of


@dataclass(frozen=True)
class Point:
    """One cell in a chart; ``low`` and ``high`` are its interval, None where not estimated."""

    arm: str
    load: float
    value: float
    low: float | None
    high: float | None
    trusted: bool


@dataclass(frozen=True)
class Change:
    """A load at which another arm takes the lead, with its interval where one was estimated."""

    load: float
    low: float | None
    high: float | None
    before: str
    after: str


def points(summary: Summary, measure: Measure) -> tuple[Point, ...]:
    """Return a point for each cell that has a value and a load."""
    found = []
    for cell in summary.cells:
        value, load = measure.read(cell), load_of(cell, summary.load_unit)
        if value is None or load is None or not math.isfinite(load):
            continue
        low, high = measure.interval(cell) or (None, None)
        found.append(Point(cell.arm, load, value, low, high, cell.client_verdict != "client_limited"))
    return tuple(found)


def line(marks: Sequence[Point], arm: str) -> tuple[tuple[float, float], ...]:
    """Return the arm's (load, value) in order of load; repeats of a load become their median."""
    loads = sorted({mark.load for mark in marks if mark.arm == arm})
    return tuple(
        (load, median(mark.value for mark in marks if mark.arm == arm and mark.load == load)) for load in loads
    )


def typical(marks: Sequence[Point], arm: str) -> tuple[Point, ...]:
    """Return a point a load: the median of its repeats, within the widest reach of their intervals."""
    loads = sorted({mark.load for mark in marks if mark.arm == arm})
    return tuple(_typical([mark for mark in marks if mark.arm == arm and mark.load == load]) for load in loads)


def _typical(alike: Sequence[Point]) -> Point:
    trusted = [mark for mark in alike if mark.trusted] or list(alike)
    ends = [end for mark in trusted for end in (mark.low, mark.high) if end is not None]
    seen = [mark.value for mark in trusted]
    low, high = (min(ends + seen), max(ends + seen)) if ends or len(seen) > 1 else (None, None)
    return Point(alike[0].arm, alike[0].load, median(seen), low, high, trusted=trusted[0].trusted)


def changes(summary: Summary, measure: Measure) -> tuple[Change, ...]:
    """Return where the recommended arm changes along the load axis."""
    found = []
    for recommendation in summary.recommendation:
        if recommendation.metric != measure.path:
            continue
        for place, ((before, _, _), (after, start, _)) in enumerate(pairwise(recommendation.ranges)):
            undecided = recommendation.undecided[place] if place < len(recommendation.undecided) else None
            if start is not None and undecided is None:
                either = recommendation.uncertain[place] if place < len(recommendation.uncertain) else None
                low, high = either or _interval(summary, measure, {before, after}, start)
                found.append(Change(start, low, high, before, after))
    return tuple(found)


def _interval(summary: Summary, measure: Measure, arms: set[str], load: float) -> tuple[float | None, float | None]:
    """Return the interval of the pair's own crossing at this load, if there is one."""
    for crossover in summary.crossovers:
        if crossover.metric == measure.path and set(crossover.arms) == arms:
            for crossing in crossover.crossings:
                if math.isclose(crossing.load, load, rel_tol=0.01):
                    return crossing.low, crossing.high
    return None, None


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> tuple[float, ...]:
    """Return positions in the order of ``wanted``, at least ``gap`` apart and near what was wanted.

    All stay within ``low`` to ``high`` where the gaps leave room; otherwise they run past ``high``.
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    placed: list[float] = []
    for place in order:
        placed.append(max(wanted[place], placed[-1] + gap if placed else low))
    ceiling = max(high, low + gap * (len(placed) - 1))
    for place in reversed(range(len(placed))):
        placed[place] = min(placed[place], ceiling)
        ceiling = placed[place] - gap
    result = [0.0] * len(wanted)
    for position, place in zip(placed, order, strict=True):
        result[place] = position
    return tuple(result)
