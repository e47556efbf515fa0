"""Which arm to serve in which range of load: the best arm of all, for one metric at a time.

The answer names the fewest ranges in which the arm of the range is nowhere shown to be worse than the best by more
than ``MARGIN``. How well a handover is placed is read from the crossing of the two arms.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whichbits.analyze.answer.handovers import Field, Interval, Range, Stretch, stretches
from whichbits.analyze.crossings.pairs import Pairs
from whichbits.analyze.curves.left_out import left_out
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
    unit_behind,
)
from whichbits.analyze.summary import CellSummary, Crossover, Metric, Recommendation
from whichbits.analyze.summary.source import compared_at
from whichbits.language.phrase import Phrase, first_of, joined, listed, phrase
from whichbits.record.timelines import Floats


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
    pairs = crossovers if isinstance(crossovers, Pairs) else Pairs(crossovers)
    judged = any(each.metric == metric for each in pairs)
    field = Field(tuple(compared), loads, cost, lambda one, other: pairs.between(one, other, metric), judged)
    ranges, turns = ((), ()) if _all_level(cost) else field.ranges()
    undecided = tuple(turn.undecided for turn in turns)
    uncertain = tuple(turn.uncertain for turn in turns)
    ends = (float(loads[0]), float(loads[-1]))
    scope = _Scope(unit, _range(loads), _missing([arm for arm in arms if arm not in found]))
    parts = tuple(stretches(ranges, turns, ends))
    rivals = tuple(_rivals(each, field) for each in parts)
    claim = _claim(parts, rivals, dict(_placed(ranges, uncertain)), scope, loads.tolist())
    text = _text(METRICS[metric].name, claim, scope, several=len(ranges) > 1)
    gone = left_out(cells, compared, metric, unit, loads.tolist())
    return Recommendation(metric, ranges, text, uncertain, undecided, parts, tuple(loads.tolist()), gone, rivals)


def _all_level(cost: Floats) -> bool:
    return bool((np.ptp(cost, axis=0) <= np.log1p(MARGIN)).all())


def _placed(ranges: Sequence[Range], uncertain: Sequence[Interval | None]) -> Iterator[tuple[float, Interval]]:
    for (_, _, end), interval in zip(ranges, uncertain, strict=False):
        if end is not None and interval is not None:
            yield end, interval


def _range(loads: Floats) -> str:
    if loads.size == 1:
        return f"{loads[0]:g}"
    return phrase("{loads:g} to {loads_2:g}", loads=loads[0], loads_2=loads[-1])


def _missing(arms: Sequence[str]) -> str:
    return phrase("; no usable cells of {list}", list=first_of(", ", arms)) if arms else ""


def _rivals(stretch: Stretch, field: Field) -> str:
    """Return the arms that a stretch's arm is not shown to be better than, and at which loads; empty where none is."""
    if len(stretch.arms) > 1 or not field.judged:
        return ""
    found: Range = (stretch.arms[0], stretch.low, stretch.high)
    others = [arm for arm in field.arms if arm != found[0]]
    level = [arm for arm in others if not _told_apart(found, arm, field)]
    if level and level == others:
        return phrase("any other")
    in_part = {arm: field.level_at(found, arm) for arm in others if arm not in level}
    told = [
        phrase("{arm} at {loads}", arm=arm, loads=listed([load for run in runs for load in _run(run)]))
        for arm, runs in in_part.items()
        if runs
    ]
    return first_of("; " if told else ", ", (*level, *told))


def _run(loads: Sequence[float]) -> list[str]:
    """Return neighbouring loads as one range, unless they are few: ``1 to 23``, or ``1`` and ``5``."""
    return [range_words((loads[0], loads[-1]))] if len(loads) > 2 else [load_words(load) for load in loads]


def _told_apart(found: Range, other: str, field: Field) -> bool:
    """Whether the interval of the two arms' ratio leaves out 1 at some load of the range, in its arm's favour."""
    arm, low, high = found
    told = field.told_apart(arm, other)
    return any(apart for load, apart in told.items() if (low is None or load >= low) and (high is None or load <= high))


class _Scope(NamedTuple):
    unit: AxisUnit
    loads: str
    missing: str


def _text(metric: str, claim: str, scope: _Scope, *, several: bool) -> Phrase:
    """Return the sentence; reports leave out its fields ``title``, ``scope`` and ``unit`` where these stand above it.

    A scope that names arms without usable cells is said of no other metric, so it has a name of its own.
    """
    title = phrase("{metric}: ", metric=metric)
    said = phrase(
        " ({compared}{missing})",
        compared=compared_at(scope.loads, "" if several else unit_behind(scope.loads, scope.unit)),
        missing=scope.missing,
    )
    if scope.missing:
        return phrase("{title}{claim}{scope_with_gaps}", title=title, claim=claim, scope_with_gaps=said)
    return phrase("{title}{claim}{scope}", title=title, claim=claim, scope=said)


def claim_of(answer: Recommendation) -> Phrase:
    """Return who leads where by an answer that was recorded, as its text says it but for units and doubts."""
    parts = answer.stretches or tuple(((arm,), low, high) for arm, low, high in answer.ranges)
    if not parts:
        return _nobody()
    found = [Stretch(*each) for each in parts]
    named = [_first_or_then(each.arms) if len(each.arms) > 1 else each.arms[0] for each in found]
    loads = answer.loads or (0.0, math.inf)
    return _handed_over(found, named, dict(_placed(answer.ranges, answer.uncertain)), None, loads)


def _nobody() -> Phrase:
    return phrase("no arm ahead by more than {margin:.0%}", margin=MARGIN)


def _claim(
    found: Sequence[Stretch], rivals: Sequence[str], ends: dict[float, Interval], scope: _Scope, loads: Sequence[float]
) -> str:
    if not found:
        return _nobody()
    named = [_named(each, level) for each, level in zip(found, rivals, strict=True)]
    return _handed_over(found, named, ends, scope.unit, loads)


def _handed_over(
    found: Sequence[Stretch],
    named: Sequence[str],
    placed: Mapping[float, Interval],
    unit: AxisUnit | None,
    loads: Sequence[float],
) -> Phrase:
    """Return who leads from where to where.

    ``named`` says each stretch's arms; ``placed`` are handovers with their intervals; a unit of None stands elsewhere,
    ``loads`` are those compared.
    """
    if len(found) == 1:
        return joined("", named) if len(loads) == 1 else phrase("{arm} throughout", arm=named[0])
    parts = []
    for place, (arm, each) in enumerate(zip(named, found, strict=True)):
        if each.high is None:
            at_end = each.low is not None and each.low >= loads[-1]
            words = phrase("{arm} at {load}", arm=arm, load=load_words(each.low)) if at_end else None
            parts.append(words or phrase("{arm} beyond", arm=arm))
            continue
        undecided = len(each.arms) > 1 or len(found[place + 1].arms) > 1
        end = _end(each.high, placed.get(each.high), unit, exact=undecided)
        parts.append(
            phrase("{arm} from there to {end}", arm=arm, end=end)
            if parts
            else phrase("{arm} up to {end}", arm=arm, end=end)
        )
    return first_of(", ", parts)


def _named(stretch: Stretch, rivals: str) -> str:
    if len(stretch.arms) > 1:
        return _first_or_then(stretch.arms)
    (arm,) = stretch.arms
    return phrase("{arm}{doubt}", arm=arm, doubt=phrase(" (not told apart from {list})", list=rivals) if rivals else "")


def _first_or_then(arms: Sequence[str]) -> Phrase:
    first, then = arms
    return phrase("{first} or {then} (not told apart)", first=first, then=then)


def _end(load: float, interval: Interval | None, unit: AxisUnit | None, *, exact: bool) -> str:
    """Return a handover with the loads at which either arm may be the better, or as a mere estimate.

    A stretch that nothing decides ends at a load that was measured, which is no estimate.
    """
    told = load_words(load)
    behind = "" if unit is None else unit_behind(told, unit)
    if interval is not None:
        return phrase("{load}{unit} (either within {interval})", load=told, unit=behind, interval=range_words(interval))
    if exact:
        return phrase("{load}{unit}", load=told, unit=behind)
    return phrase("about {load}{unit}", load=told, unit=behind)
