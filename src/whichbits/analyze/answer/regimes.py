"""The answer by regime: low load, high load under a latency SLO, high load for throughput."""

from collections.abc import Sequence

import numpy as np

from whichbits.analyze.answer.ranking import Compared, Judge, Name, level_words, place, ranked
from whichbits.analyze.answer.scope import holds_for, not_known, would_flip
from whichbits.analyze.answer.under_slo import under_slo
from whichbits.analyze.curves.left_out import asked_loads, left_out
from whichbits.analyze.curves.load_curves import METRICS, curves, load_unit, medians, paired
from whichbits.analyze.summary import Metric
from whichbits.analyze.summary.verdicts import Answer, Regime
from whichbits.language.phrase import joined, phrase
from whichbits.record.timelines import Floats

_TPOT: tuple[Metric, ...] = ("tpot_ms.p99", "tpot_ms.p90", "tpot_ms.p50")
_TTFT: tuple[Metric, ...] = ("ttft_ms.p99", "ttft_ms.p90", "ttft_ms.p50")
HANDFUL = 4


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
    name: Name = "high_load_throughput"
    return _judged(compared, name, "output_tokens_per_s") or _nothing(name)


def _under_slo(compared: Compared) -> Regime:
    """Go by the load that holds the study's SLO; without one by the highest percentiles that are no handful."""
    name: Name = "high_load_latency"
    if len(compared.slo_capacities) > 1:
        return under_slo(compared)
    pace, start = (_first_judged(compared, name, metrics) for metrics in (_TPOT, _TTFT))
    if pace is None or start is None:
        return pace or start or _nothing(name)
    if pace.arm is None or start.arm is None:
        return pace if pace.arm is None else start
    if pace.arm == start.arm or pace.arm in start.level_with:
        return pace
    if start.arm in pace.level_with:
        return start
    text = phrase(
        "It depends on the SLO, of which the study has none: {text}; {text_2}.", text=pace.text, text_2=start.text
    )
    return Regime(name, None, text, pace.metric, pace.load)


def _first_judged(compared: Compared, name: Name, metrics: Sequence[Metric]) -> Regime | None:
    """Return the first of these metrics that names an arm, or else what the first says of why none does."""
    found = [regime for metric in metrics if (regime := _judged(compared, name, metric)) is not None]
    return next((regime for regime in found if regime.arm is not None), found[0] if found else None)


def _judged(compared: Compared, name: Name, metric: Metric) -> Regime | None:
    """Rank the arms by a metric at the lowest or highest load that all were asked; None if fewer than two have it.

    A single load is low if it is a handful of streams, else high: it cannot be both. Where that load cannot be
    compared, no other takes its place: the arm is not known.
    """
    unit = load_unit(compared.cells)
    found = curves(compared.cells, metric, unit)
    arms = [arm for arm in compared.arms if arm in found]
    loads, logs = paired([found[arm] for arm in arms]) if len(arms) > 1 else (np.empty(0), np.empty((0, 0)))
    asked = asked_loads(compared.cells, arms, unit)
    lowest = name == "low_load"
    if not loads.size or (len(asked) == 1 and lowest != (unit == "concurrency" and asked[0] <= HANDFUL)):
        return None
    at = 0 if lowest else -1
    values = dict(zip(arms, np.exp(logs[:, at]).tolist(), strict=True))
    unknown = [arm for arm in compared.arms if arm not in found and any(cell.arm == arm for cell in compared.cells)]
    load = float(loads[at])
    judge = Judge(name, metric, load, unit, medians({arm: found[arm] for arm in arms}, load))
    regime = ranked(compared, judge, values, unknown)
    return regime if loads[at] == asked[at] else _not_known(compared, metric, regime, asked[at], loads)


def _not_known(compared: Compared, metric: Metric, nearest: Regime, asked: float, loads: Floats) -> Regime:
    """Say that nothing is known at a load that was asked, and what holds at the nearest that can be compared."""
    unit = load_unit(compared.cells)
    found = curves(compared.cells, metric, unit)
    arms = [arm for arm in compared.arms if arm in found]
    gone = left_out(compared.cells, arms, metric, unit, loads.tolist())
    why = joined(", ", dict.fromkeys(each.why for each in gone if each.load == asked))
    text = phrase(
        "Not known at {asked}: {why}. At {place}, the nearest that can be compared, {arm} is {lead:.0%} ahead of "
        "{after} by {name}{level_words}",
        asked=place(asked, unit),
        why=why,
        place=place(nearest.load or 0, unit),
        arm=nearest.arm,
        lead=nearest.lead,
        after=nearest.next_best,
        name=METRICS[metric].name,
        level_words=level_words(nearest.level_with),
    )
    return Regime(nearest.regime, None, text, metric, asked)


def _nothing(name: Name) -> Regime:
    return Regime(name, None, phrase("Not known: no two arms have a usable cell at such a load."))
