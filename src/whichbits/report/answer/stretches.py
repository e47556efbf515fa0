"""The answer as stretches of load, each with the arm that leads there, for a page to draw."""

import math
from dataclasses import dataclass

from whichbits.analyze.summary import Recommendation, Summary
from whichbits.language.phrase import phrase
from whichbits.report.answer.validity import answer_text, doubts, measured_loads
from whichbits.report.cells.measures import name_of
from whichbits.report.palette import Sign, signs
from whichbits.report.wording import short_load


@dataclass(frozen=True)
class Segment:
    """A stretch of load in which one arm leads; ``share`` is its part of the (log) load axis, 0 to 1.

    ``doubt`` says where it may end instead.
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
            answer_text(entry),
            _segments(entry, summary),
            doubts(entry, summary, beside_text=False),
        )
        for entry in summary.recommendation
    )


def _segments(entry: Recommendation, summary: Summary) -> tuple[Segment, ...]:
    loads = [load for load in measured_loads(summary) if load > 0] or [1.0]
    palette = signs(tuple(summary.arms))
    return tuple(
        Segment(
            arm=arm,
            sign=palette.get(arm),
            extent=_extent(low, high, entry, place) if len(loads) > 1 else phrase("at the load measured"),
            share=_share(low or loads[0], high or loads[-1], loads[0], loads[-1]),
            doubt=_doubt(entry, place),
        )
        for place, (arm, low, high) in enumerate(entry.ranges)
    )


def _share(low: float, high: float, first: float, last: float) -> float:
    """Return the part of the log axis; a single load, or a range beyond it, is all of it."""
    return math.log(high / low) / math.log(last / first) if first <= low < high <= last else 1.0


def _extent(low: float | None, high: float | None, entry: Recommendation, place: int) -> str:
    """Return a stretch's ends: ``up to 154``, ``from about 67``."""
    start, end = _end(low, entry, place - 1), _end(high, entry, place)
    if start is None:
        return phrase("at every load measured") if end is None else phrase("up to {end}", end=end)
    return phrase("from {start}", start=start) if end is None else phrase("{start} to {end}", start=start, end=end)


def _end(load: float | None, entry: Recommendation, handover: int) -> str | None:
    if load is None:
        return None
    placed = handover >= len(entry.uncertain) or entry.uncertain[handover] is not None
    return phrase("{more}{load}", more="" if placed else phrase("about "), load=short_load(load))


def _doubt(entry: Recommendation, place: int) -> str:
    either = entry.uncertain[place] if place < min(len(entry.uncertain), len(entry.ranges) - 1) else None
    return (
        ""
        if either is None
        else phrase(
            "either arm from {either} to {either_2}", either=short_load(either[0]), either_2=short_load(either[1])
        )
    )
