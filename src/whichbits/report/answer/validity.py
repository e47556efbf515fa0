"""How far an answer can be trusted: pairs that are too noisy, percentiles of few samples, a single repeat."""

import math
from collections.abc import Iterator

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.curves.drain import OF_WHOLE_CELL, is_drained
from whichbits.analyze.summary import LeftOut, Recommendation, Summary
from whichbits.language.phrase import Phrase, listed, phrase
from whichbits.report.cells.measures import DRAWN, MEASURES
from whichbits.report.wording import LOAD_NAMES, load_of, load_text, short_load


def answer_text(entry: Recommendation, summary: Summary) -> str:
    """Return the answer without what stands once above or beside it: metric, unit, loads if all have the same."""
    if not isinstance(entry.text, Phrase):
        return entry.text
    loads = compared_loads(summary)
    alike = not entry.loads or (entry.loads[0], entry.loads[-1]) == (loads[0], loads[-1])
    return entry.text.without("title", "unit", *(["scope"] if alike else []))


def doubts(entry: Recommendation, summary: Summary, *, beside_text: bool) -> tuple[str, ...]:
    """Return what makes an answer less than sure, in a few words each; ``beside_text`` leaves out what it says."""
    judged = [crossover.verdict for crossover in summary.crossovers if crossover.metric == entry.metric]
    noisy = judged.count("noisy")
    pairs = (
        phrase("{noisy} of {count} pairs too noisy", noisy=noisy, count=len(judged))
        if len(judged) > 1
        else phrase("too noisy")
    )
    alone = any(crossover.spread_assumed for crossover in summary.crossovers if crossover.metric == entry.metric)
    said = beside_text and "not told apart" in entry.text
    return (
        *([pairs] if noisy and not said else []),
        *([phrase("few samples")] if _is_thin(entry, summary) else []),
        *([phrase("one repeat")] if alone else []),
        *_drained(entry, summary),
        *_left_out(entry, summary),
    )


def compared_loads(summary: Summary) -> tuple[float, ...]:
    """Return the loads at which arms were compared by any metric, in rising order; those measured if unknown."""
    known = {load for entry in summary.recommendation for load in entry.loads}
    return tuple(sorted(known)) or measured_loads(summary)


def _drained(entry: Recommendation, summary: Summary) -> list[str]:
    met = [cell for cell in summary.cells if not entry.loads or load_of(cell, summary.load_unit) in entry.loads]
    held = sum(map(is_drained, met)) if entry.metric in OF_WHOLE_CELL else 0
    return [phrase("{cells} hold a drain", cells=cells_of(held, len(met)))] if held else []


def _left_out(entry: Recommendation, summary: Summary) -> Iterator[str]:
    """Say which loads are not compared, those of one reason together."""
    words = {load_of(cell, summary.load_unit): load_text(cell) for cell in reversed(summary.cells)}
    alike: dict[tuple[str, int], list[LeftOut]] = {}
    for each in entry.left_out:
        alike.setdefault((each.why, 0 if each.repeats == each.of else each.repeats), []).append(each)
    for (why, part), gone in alike.items():
        loads = listed([words.get(each.load, short_load(each.load)) for each in gone])
        if part:
            yield phrase(
                "{part} of {of} repeats of {loads} left out: {why}", part=part, of=gone[0].of, loads=loads, why=why
            )
        else:
            yield phrase("{loads} left out: {why}", loads=loads, why=why)


def measured_loads(summary: Summary) -> tuple[float, ...]:
    """Return the loads in rising order; an unlimited rate, as other tools know it, is none."""
    loads = {load_of(cell, summary.load_unit) for cell in summary.cells}
    return tuple(sorted(load for load in loads if load is not None and math.isfinite(load)))


def loads_text(summary: Summary) -> str:
    """Return the range of loads that were compared: ``1 to 256``; empty without any."""
    loads = compared_loads(summary)
    if not loads:
        return ""
    return (
        short_load(loads[0])
        if len(loads) == 1
        else phrase("{loads} to {loads_2}", loads=short_load(loads[0]), loads_2=short_load(loads[-1]))
    )


def scope_text(summary: Summary) -> str:
    """Return the unit of load and the range that was met: ``concurrent requests, measured at 1 to 256``."""
    unit, loads = LOAD_NAMES[summary.load_unit], loads_text(summary)
    if summary.source == "predicted":
        return phrase("{unit}, predicted at {loads}", unit=unit, loads=loads)
    return phrase("{unit}, measured at {loads}", unit=unit, loads=loads)


def _is_thin(entry: Recommendation, summary: Summary) -> bool:
    measure = (MEASURES | DRAWN).get(entry.metric)
    return measure is not None and any(measure.is_thin(cell) for cell in summary.cells)
