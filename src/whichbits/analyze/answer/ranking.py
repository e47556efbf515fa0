"""The best of the arms by one metric at one load, and which others may be as good."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from whichbits.analyze.crossings.pairs import between
from whichbits.analyze.curves.load_curves import MARGIN, METRICS, AxisUnit, load_words, unit_behind
from whichbits.analyze.findings.observed import number
from whichbits.analyze.summary import ArmSummary, CellSummary, Crossover, Finding, Metric, SloCapacity
from whichbits.analyze.summary.verdicts import Regime
from whichbits.language.phrase import first_of, phrase
from whichbits.record.schema import Manifest

Name = Literal["low_load", "high_load_latency", "high_load_throughput"]


@dataclass(frozen=True)
class Compared:
    """What an answer is read from."""

    manifest: Manifest
    arms: Mapping[str, ArmSummary]
    cells: Sequence[CellSummary]
    crossovers: Sequence[Crossover]
    findings: Sequence[Finding] = ()
    slo_capacities: Sequence[SloCapacity] = field(default_factory=tuple)


class Judge(NamedTuple):
    """By what arms are ranked."""

    name: Name
    metric: Metric
    load: float
    unit: AxisUnit
    shown: Mapping[str, float] = {}
    """By arm the median of its repeats there, as tables have it, where all arms met the same repeats; else nothing."""


def ranked(compared: Compared, by: Judge, values: Mapping[str, float], unknown: Sequence[str] = ()) -> Regime:
    """Return the regime with the best of these values, and who may be level with it.

    Of ``unknown`` arms there is no value, so that nothing tells them from the best.
    """
    better = METRICS[by.metric].lower_is_better
    best, after, *_ = sorted(values, key=lambda arm: values[arm] if better else -values[arm])
    lead = max(values[best], values[after]) / min(values[best], values[after]) - 1
    others = (arm for arm in values if arm != best)
    level = tuple(arm for arm in others if is_level(compared.crossovers, (best, arm), by.metric, by.load))
    level = (*level, *unknown)
    text = phrase(
        "{title}{name} {value} at {place}, {lead:.0%} ahead of {after}{reach}{level}",
        title=phrase("{best}: ", best=best),
        name=METRICS[by.metric].name,
        value=number(by.shown.get(best, values[best])),
        place=_place(by),
        lead=lead,
        after=after,
        reach=_reach(compared.crossovers, (best, after), by, lead),
        level=level_words(level),
    )
    return Regime(by.name, best, text, by.metric, by.load, level, after, lead)


def _reach(crossovers: Sequence[Crossover], pair: tuple[str, str], by: Judge, lead: float) -> str:
    """Return within what a lead may be, by the two arms' own repeats; nothing where these tell another lead."""
    each = between(crossovers, pair, by.metric)
    if each is None or by.load not in each.loads or not each.ratio_intervals:
        return ""
    low, high = each.ratio_intervals[each.loads.index(by.load)]
    if (each.arms[0] == pair[0]) == METRICS[by.metric].lower_is_better:
        low, high = 1 / high, 1 / low
    within = low - 1 <= lead <= high - 1
    return phrase(" ({low:.0%} to {high:.0%})", low=low - 1, high=high - 1) if within else ""


def _place(by: Judge) -> str:
    """Return the load, and where values are not those of a table, why."""
    told = place(by.load, by.unit)
    return told if by.shown else phrase("{place} (adjusted, as arms met different repeats)", place=told)


def place(load: float, unit: AxisUnit) -> str:
    """Return a load with its unit."""
    if (load, unit) == (1, "concurrency"):
        return phrase("1 concurrent request")
    told = load_words(load)
    return phrase("{load}{unit}", load=told, unit=unit_behind(told, unit))


def is_level(crossovers: Sequence[Crossover], pair: tuple[str, str], metric: Metric, load: float) -> bool:
    """Say whether an interval allows that two arms are equal, or they are within the margin of each other."""
    each = between(crossovers, pair, metric)
    if each is None or load not in each.loads:
        return False
    at = each.loads.index(load)
    near = abs(math.log(each.ratios[at])) <= math.log1p(MARGIN)
    low, high = each.ratio_intervals[at] if each.ratio_intervals else (each.ratios[at],) * 2
    return near or low <= 1 <= high


def level_words(level: Sequence[str]) -> str:
    """Return who is not told apart, behind what is said of the best."""
    return phrase("; not told apart from {list}", list=first_of(", ", level)) if level else ""
