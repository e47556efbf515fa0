"""How far an answer can be trusted: pairs that are too noisy, percentiles of few samples, a single repeat."""

import math
import re

from whichbits.analyze.summary import Recommendation, Summary
from whichbits.report.measures import DRAWN, MEASURES
from whichbits.report.wording import claim, load_of, short_load

_SCOPE = re.compile(r" \(measured (?:at )?[\d.]+(?: to [\d.]+)?(?: (?:concurrent requests|requests/s))?\)$")
_UNIT = re.compile(r" (?:concurrent requests|requests/s)\b")


def answer_text(entry: Recommendation) -> str:
    """Return the answer without what stands once above all of them: the unit, and the loads that were measured."""
    return _UNIT.sub("", _SCOPE.sub("", claim(entry)))


def doubts(entry: Recommendation, summary: Summary, *, beside_text: bool) -> tuple[str, ...]:
    """Return what makes an answer less than sure, in a few words each; ``beside_text`` leaves out what it says."""
    judged = [crossover.verdict for crossover in summary.crossovers if crossover.metric == entry.metric]
    noisy = judged.count("noisy")
    pairs = f"{noisy} of {len(judged)} pairs too noisy" if len(judged) > 1 else "too noisy"
    alone = any(crossover.spread_assumed for crossover in summary.crossovers if crossover.metric == entry.metric)
    said = beside_text and "not told apart" in entry.text
    return (
        *([pairs] if noisy and not said else []),
        *(["few samples"] if _is_thin(entry, summary) else []),
        *(["one repeat"] if alone else []),
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
    return short_load(loads[0]) if len(loads) == 1 else f"{short_load(loads[0])} to {short_load(loads[-1])}"


def _is_thin(entry: Recommendation, summary: Summary) -> bool:
    measure = (MEASURES | DRAWN).get(entry.metric)
    return measure is not None and any(measure.is_thin(cell) for cell in summary.cells)
