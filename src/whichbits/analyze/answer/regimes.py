"""The answer by regime: low load, high load under a latency SLO, high load for throughput."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from whichbits.analyze.answer.scope import holds_for, not_known, would_flip
from whichbits.analyze.curves.load_curves import MARGIN, METRICS, AxisUnit, curves, load_unit, load_words, paired
from whichbits.analyze.findings.observed import number
from whichbits.analyze.summary import ArmSummary, CellSummary, Crossover, Finding, Metric, SloCapacity
from whichbits.analyze.summary.verdicts import Answer, Regime
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest

_Name = Literal["low_load", "high_load_latency", "high_load_throughput"]
_TPOT: tuple[Metric, ...] = ("tpot_ms.p99", "tpot_ms.p90", "tpot_ms.p50")
_TTFT: tuple[Metric, ...] = ("ttft_ms.p99", "ttft_ms.p90", "ttft_ms.p50")
HANDFUL = 4
_UNITS = {"concurrency": phrase(" concurrent requests"), "request_rate": phrase(" requests/s")}


@dataclass(frozen=True)
class Compared:
    """What an answer is read from."""

    manifest: Manifest
    arms: Mapping[str, ArmSummary]
    cells: Sequence[CellSummary]
    crossovers: Sequence[Crossover]
    findings: Sequence[Finding] = ()
    slo_capacities: Sequence[SloCapacity] = field(default_factory=tuple)


def answer(compared: Compared) -> Answer | None:
    """Answer by regime; None if fewer than two arms can be compared by anything."""
    regimes = (_low_load(compared), _under_slo(compared), _for_throughput(compared))
    if all(regime.metric is None and regime.arm is None for regime in regimes):
        return None
    return Answer(
        regimes=regimes,
        holds_for=holds_for(compared.manifest, compared.arms, compared.cells),
        would_flip=would_flip(regimes, compared.crossovers, compared.findings, compared.arms),
        not_known=not_known(compared.findings),
    )


def _low_load(compared: Compared) -> Regime:
    return _first_judged(compared, "low_load", ("tpot_ms.p50", "tpot_ms.mean")) or _nothing("low_load")


def _for_throughput(compared: Compared) -> Regime:
    name: _Name = "high_load_throughput"
    return _judged(compared, name, "output_tokens_per_s") or _nothing(name)


def _under_slo(compared: Compared) -> Regime:
    """Go by the load that holds the study's SLO; without one by the highest percentiles that are no handful."""
    name: _Name = "high_load_latency"
    if len(compared.slo_capacities) > 1:
        return _by_slo(compared.slo_capacities, _UNITS[load_unit(compared.cells)])
    pace, start = (_first_judged(compared, name, metrics) for metrics in (_TPOT, _TTFT))
    if pace is None or start is None:
        return pace or start or _nothing(name)
    if pace.arm == start.arm or pace.arm in start.level_with:
        return pace
    if start.arm in pace.level_with:
        return start
    text = phrase(
        "It depends on the SLO, of which the study has none: {text}; {text_2}.", text=pace.text, text_2=start.text
    )
    return Regime(name, None, text, pace.metric, pace.load)


def _by_slo(capacities: Sequence[SloCapacity], unit: str) -> Regime:
    best, after = capacities[0], capacities[1]
    if best.load is None:
        text = phrase("No arm holds the SLO for {share:.0%} of its requests even at the lowest load.", share=best.share)
        return Regime("high_load_latency", None, text, "slo_share")
    level = tuple(each.arm for each in capacities[1:] if _may_hold(each, best))
    held = phrase(
        "{title}holds the SLO for {share:.0%} of its requests up to {load}{unit}",
        title=phrase("{arm} ", arm=best.arm),
        share=best.share,
        load=load_words(best.load),
        unit=unit,
    )
    beyond = phrase(" (the highest load of the study)") if best.beyond else ""
    next_held = (
        phrase("{arm} not even at the lowest load", arm=after.arm)
        if after.load is None
        else phrase("{arm} up to {load}", arm=after.arm, load=load_words(after.load))
    )
    lead = None if after.load is None else best.load / after.load - 1
    text = phrase(
        "{held}{beyond}, {next_held}{level_words}",
        held=held,
        beyond=beyond,
        next_held=next_held,
        level_words=_level_words(level),
    )
    return Regime("high_load_latency", best.arm, text, "slo_share", best.load, level, after.arm, lead)


def _may_hold(other: SloCapacity, best: SloCapacity) -> bool:
    """Say whether intervals, or the margin within which arms count as equal, allow that the other holds as much."""
    most = math.inf if other.high is None else other.high * (1 + MARGIN)
    return other.load is not None and most >= (best.low or 0.0) and (other.beyond or most >= (best.load or 0.0))


def _first_judged(compared: Compared, name: _Name, metrics: Sequence[Metric]) -> Regime | None:
    found = (_judged(compared, name, metric) for metric in metrics)
    return next((regime for regime in found if regime is not None), None)


def _judged(compared: Compared, name: _Name, metric: Metric) -> Regime | None:
    """Rank the arms by a metric at the lowest or highest load that all share; None if fewer than two have it.

    A single load is low if it is a handful of streams, else high: it cannot be both.
    """
    unit = load_unit(compared.cells)
    found = curves(compared.cells, metric, unit)
    arms = [arm for arm in compared.arms if arm in found]
    loads, logs = paired([found[arm] for arm in arms]) if len(arms) > 1 else (np.empty(0), np.empty((0, 0)))
    lowest = name == "low_load"
    if not loads.size or (loads.size == 1 and lowest != (unit == "concurrency" and loads[0] <= HANDFUL)):
        return None
    at = 0 if lowest else -1
    values = dict(zip(arms, np.exp(logs[:, at]).tolist(), strict=True))
    return _ranked(compared, _Judge(name, metric, float(loads[at]), unit), values)


class _Judge(NamedTuple):
    name: _Name
    metric: Metric
    load: float
    unit: AxisUnit


def _ranked(compared: Compared, by: _Judge, values: Mapping[str, float]) -> Regime:
    """Return the regime with the best of these values, and who may be level with it."""
    better = METRICS[by.metric].lower_is_better
    best, after, *_ = sorted(values, key=lambda arm: values[arm] if better else -values[arm])
    lead = max(values[best], values[after]) / min(values[best], values[after]) - 1
    others = (arm for arm in values if arm != best)
    level = tuple(arm for arm in others if _level(compared.crossovers, (best, arm), by.metric, by.load))
    text = phrase(
        "{title}{name} {value} at {place}, {lead:.0%} ahead of {after}{level}",
        title=phrase("{best}: ", best=best),
        name=METRICS[by.metric].name,
        value=number(values[best]),
        place=_place(by.load, by.unit),
        lead=lead,
        after=after,
        level=_level_words(level),
    )
    return Regime(by.name, best, text, by.metric, by.load, level, after, lead)


def _place(load: float, unit: AxisUnit) -> str:
    return (
        phrase("1 concurrent request")
        if (load, unit) == (1, "concurrency")
        else phrase("{load}{unit}", load=load_words(load), unit=_UNITS[unit])
    )


def _level(crossovers: Sequence[Crossover], pair: tuple[str, str], metric: Metric, load: float) -> bool:
    """Say whether an interval allows that two arms are equal, or they are within the margin of each other."""
    for each in crossovers:
        if set(each.arms) == set(pair) and each.metric == metric and load in each.loads:
            at = each.loads.index(load)
            near = abs(math.log(each.ratios[at])) <= math.log1p(MARGIN)
            low, high = each.ratio_intervals[at] if each.ratio_intervals else (each.ratios[at],) * 2
            return near or low <= 1 <= high
    return False


def _level_words(level: Sequence[str]) -> str:
    return phrase("; not told apart from {list}", list=joined(", ", level)) if level else ""


def _nothing(name: _Name) -> Regime:
    return Regime(name, None, phrase("Not known: no two arms have a usable cell at such a load."))
