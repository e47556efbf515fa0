"""The answer as stretches of load, each with the arm that leads there, for a page to draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whichbits.analyze.summary import Recommendation, Summary
from whichbits.language.phrase import MOST_NAMES, joined, phrase
from whichbits.report.answer.validity import answer_text, doubts, measured_loads
from whichbits.report.cells.measures import name_of
from whichbits.report.palette import Sign, signs
from whichbits.report.shown import shown_arms
from whichbits.report.wording import short_load

_SEEN = 0.04
"""The least share of the axis that a stretch takes."""


@dataclass(frozen=True)
class Segment:
    """A stretch of load in which one arm leads, or two are not told apart.

    ``share`` is its part of the (log) load axis, 0 to 1; ``doubt`` says where it may end instead.
    """

    arm: str
    sign: Sign | None
    extent: str
    share: float
    doubt: str


@dataclass(frozen=True)
class Answer:
    """The answer for one metric, in words and in stretches, and what makes it less than sure."""

    name: str
    text: str
    segments: tuple[Segment, ...]
    doubts: tuple[str, ...]


def answers(summary: Summary) -> tuple[Answer, ...]:
    """Return an answer for each metric that there is one for."""
    return tuple(
        Answer(
            name_of(entry.metric),
            answer_text(entry, summary),
            _segments(entry, summary),
            doubts(entry, summary, beside_text=False),
        )
        for entry in summary.recommendation
    )


def _segments(entry: Recommendation, summary: Summary) -> tuple[Segment, ...]:
    loads = [load for load in entry.loads or measured_loads(summary) if load > 0] or [1.0]
    palette = signs(shown_arms(summary))
    parts = entry.stretches or tuple(((arm,), low, high) for arm, low, high in entry.ranges)
    if len(parts) > MOST_NAMES:
        return ()  # a strip of so many cannot be read: the words stand for it
    level_with = entry.level_with or ("",) * len(parts)
    return tuple(
        Segment(
            arm=joined(" / ", arms),
            sign=palette.get(arms[0]) if len(arms) == 1 else None,
            extent=_extent(low, high, entry, loads)
            if len(loads) > 1
            else phrase("at {load}", load=short_load(loads[0])),
            share=_share(low or loads[0], high or loads[-1], loads[0], loads[-1]),
            doubt=_doubt(high, entry, level) if len(arms) == 1 else phrase("not told apart"),
        )
        for (arms, low, high), level in zip(parts, level_with, strict=True)
    )


def _share(low: float, high: float, first: float, last: float) -> float:
    """Return the part of the log axis; a range beyond it is all of it, one load is just to be seen."""
    if first == last or not first <= low <= high <= last:
        return 1.0
    return max(_SEEN, math.log(high / low) / math.log(last / first))


def _extent(low: float | None, high: float | None, entry: Recommendation, loads: Sequence[float]) -> str:
    """Return a stretch's ends: ``up to 154``, ``from about 67``, ``at 32``."""
    start, end = _end(low, entry), _end(high, entry)
    if (low or loads[0]) == (high or loads[-1]):
        return phrase("at {load}", load=short_load(low or loads[0]))
    if start is None:
        return phrase("at every load compared") if end is None else phrase("up to {end}", end=end)
    return phrase("from {start}", start=start) if end is None else phrase("{start} to {end}", start=start, end=end)


def _end(load: float | None, entry: Recommendation) -> str | None:
    """Return an end of a stretch; a handover that nothing places is an estimate."""
    if load is None:
        return None
    estimated = any(
        high == load and _at(entry.uncertain, place) is None and _at(entry.undecided, place) is None
        for place, (_, _, high) in enumerate(entry.ranges)
    )
    return phrase("{more}{load}", more=phrase("about ") if estimated else "", load=short_load(load))


def _doubt(end: float | None, entry: Recommendation, level_with: str) -> str:
    """Return within which loads the handover at this end may lie, and which arms may be as good before it."""
    either = next(
        (_at(entry.uncertain, place) for place, (_, _, high) in enumerate(entry.ranges[:-1]) if high == end), None
    )
    told = (
        phrase("either arm from {either} to {either_2}", either=short_load(either[0]), either_2=short_load(either[1]))
        if either is not None
        else "",
        phrase("not told apart from {list}", list=level_with) if level_with else "",
    )
    return joined("; ", filter(None, told))


def _at(intervals: Sequence[tuple[float, float] | None], place: int) -> tuple[float, float] | None:
    return intervals[place] if place < len(intervals) else None
