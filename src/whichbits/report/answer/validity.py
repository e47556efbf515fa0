"""How far an answer can be trusted: pairs that are too noisy, percentiles of few samples, a single repeat."""

import math

from whichbits.analyze.summary import Recommendation, Summary
from whichbits.language.phrase import Phrase, phrase
from whichbits.report.cells.measures import DRAWN, MEASURES
from whichbits.report.wording import LOAD_NAMES, load_of, short_load


def answer_text(entry: Recommendation) -> str:
    """Return the answer without what stands once above or beside it: metric, unit, and the loads that were measured."""
    return entry.text.without("title", "scope", "unit") if isinstance(entry.text, Phrase) else entry.text


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
    )


def measured_loads(summary: Summary) -> tuple[float, ...]:
    """Return the loads in rising order; an unlimited rate, as other tools know it, is none."""
    loads = {load_of(cell, summary.load_unit) for cell in summary.cells}
    return tuple(sorted(load for load in loads if load is not None and math.isfinite(load)))


def loads_text(summary: Summary) -> str:
    """Return the range of loads: ``1 to 256``; empty without any."""
    loads = measured_loads(summary)
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
