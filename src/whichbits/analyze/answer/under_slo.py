"""Which arm to serve at high load under the study's SLO: the one that holds it up to the highest load.

That a share holds is claimed only from as many requests as can prove it; with fewer, arms are compared by their shares
of good requests at one load, with Wilson's intervals. Arms that hold equally far are ranked by what comes next.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from whichbits.analyze.answer.ranking import Compared, Judge, Name, level_words, place, ranked
from whichbits.analyze.curves.load_curves import (
    MARGIN,
    METRICS,
    curves,
    load_unit,
    load_words,
    medians,
    paired,
    unit_behind,
)
from whichbits.analyze.curves.slo import below_use, enough, held_words, slo_counts, wilson
from whichbits.analyze.summary import Metric, SloCapacity
from whichbits.analyze.summary.verdicts import Regime
from whichbits.language.amounts import amount
from whichbits.language.phrase import first_of, listed, phrase

_NAME: Name = "high_load_latency"
_NEXT: tuple[Metric, ...] = ("cost_per_million_tokens", "output_tokens_per_s", "tpot_ms.p50")
"""By what arms that hold the SLO equally far are ranked: the first that tells them apart."""

Counts = tuple[float, int]
"""Requests that held the SLO, and all that were sent."""


def under_slo(compared: Compared) -> Regime:
    """Answer from at least two arms' capacities."""
    first = max(compared.slo_capacities, key=lambda each: each.load or 0)
    if first.load is None:
        return _held_by_nobody(compared)
    tied = [each for each in compared.slo_capacities if each.load == first.load and each.beyond == first.beyond]
    if len(tied) > 1:
        return _tied(compared, tied)
    return _by_load(compared, first) if first.low is not None else _by_shares(compared, first)


def _held_by_nobody(compared: Compared) -> Regime:
    """No arm holds it by the estimate: said of those that are sure to break it, from their lowest load on."""
    share = compared.slo_capacities[0].share
    open_ = [each for each in compared.slo_capacities if below_use(each) is not None]
    unproven = [each.arm for each in compared.slo_capacities if each.high is None or each.high != _lowest(each)]
    if open_:
        text = phrase(
            "Not known: no arm holds the SLO for {share:.0%} of its requests at the lowest load that can be used; "
            "{why}.",
            share=share,
            why=_bound(open_[0]),
        )
    elif unproven:
        text = phrase(
            "Not known: no arm held the SLO for {share:.0%} of its requests even at the lowest load, but there were "
            "too few requests to tell of {arms}.",
            share=share,
            arms=listed(unproven),
        )
    else:
        text = phrase("No arm holds the SLO for {share:.0%} of its requests even at the lowest load.", share=share)
    return Regime(_NAME, None, text, "slo_share")


def _lowest(capacity: SloCapacity) -> float | None:
    return capacity.high if capacity.lowest is None else capacity.lowest


def _by_load(compared: Compared, best: SloCapacity) -> Regime:
    others = [each for each in compared.slo_capacities if each.arm != best.arm]
    after = _nearest(compared, best, others)
    level = (*(each.arm for each in others if _may_hold(each, best)), *_without(compared))
    lead = None if after.load is None else (best.load or 0) / after.load - 1
    text = phrase(
        "{held}, {after}{level_words}",
        held=_held(compared, best),
        after=_bound(after),
        level_words=level_words(level),
    )
    return Regime(_NAME, best.arm, text, "slo_share", best.load, level, after.arm, lead)


def _held(compared: Compared, best: SloCapacity) -> str:
    return phrase(
        "{title}holds the SLO for {share:.0%} of its requests up to {load}{unit}{beyond}",
        title=phrase("{arm} ", arm=best.arm),
        share=best.share,
        load=_load_words(best),
        unit=unit_behind(_load_words(best), load_unit(compared.cells)),
        beyond=_beyond(best),
    )


def _bound(capacity: SloCapacity) -> str:
    """Return up to where an arm holds, as the second half of a comparison: ``a up to 4``."""
    unknown = below_use(capacity)
    if unknown is not None:
        return phrase(
            "{arm} below {lowest} ({unknown})",
            arm=capacity.arm,
            lowest=load_words(capacity.lowest),
            unknown=unknown,
        )
    if capacity.load is None:
        return phrase("{arm} not even at the lowest load", arm=capacity.arm)
    return phrase("{arm} up to {load}", arm=capacity.arm, load=_load_words(capacity))


def _load_words(capacity: SloCapacity) -> str:
    """Return the load with how sure it is; that it is the highest is said behind it."""
    return held_words(replace(capacity, beyond=False))


def _beyond(capacity: SloCapacity) -> str:
    if not capacity.beyond:
        return ""
    higher = [each for each in capacity.left_out if each.repeats == each.of and each.load > (capacity.load or 0)]
    if higher:
        return phrase(
            " (the highest load that can be used: {why} at {load})", why=higher[0].why, load=load_words(higher[0].load)
        )
    return phrase(" (the highest load of the study)")


def _may_hold(other: SloCapacity, best: SloCapacity) -> bool:
    """Say whether intervals, or the margin within which arms count as equal, allow that the other holds as much."""
    if other.load is None:
        return other.high is None or other.high > (best.low or 0.0)
    most = math.inf if other.high is None else other.high * (1 + MARGIN)
    return most >= (best.low or 0.0) and (other.beyond or most >= (best.load or 0.0))


def _without(compared: Compared) -> list[str]:
    """Return the arms that were measured, but of which nothing is known under the SLO."""
    known = {each.arm for each in compared.slo_capacities}
    return [arm for arm in compared.arms if arm not in known and any(cell.arm == arm for cell in compared.cells)]


def _by_shares(compared: Compared, best: SloCapacity) -> Regime:
    """Compare shares of good requests at the highest load that the best arm held, where none is proven to hold."""
    counts, load = _counts_at(compared, best)
    others = [each for each in compared.slo_capacities if each.arm != best.arm]
    after = _nearest(compared, best, others)
    level = [each.arm for each in others if each.arm not in counts or _overlap(counts[best.arm], counts[each.arm])]
    level += _without(compared)
    told = phrase(
        "{good} at {place}, {after}; {share:.0%} takes {enough} requests a load at least",
        good=_good(counts[best.arm], None),
        place=place(load, load_unit(compared.cells)),
        after=_good(counts.get(after.arm), after.arm),
        share=best.share,
        enough=enough(best.share),
    )
    if level:
        text = phrase(
            "Not known: {arm}, {told}; not told apart from {others}", arm=best.arm, told=told, others=listed(level)
        )
        return Regime(_NAME, None, text, "slo_share", load, tuple(level), after.arm)
    text = phrase("{title}{told}", title=phrase("{best}: ", best=best.arm), told=told)
    return Regime(_NAME, best.arm, text, "slo_share", load, (), after.arm)


def _good(counts: Counts | None, arm: str | None) -> str:
    if counts is None:
        return phrase("of {arm} not known", arm=arm)
    good, sent = f"{counts[0]:.0f}", counts[1]
    if arm is None:
        return phrase("{good} of {requests} held the SLO", good=good, requests=amount(sent, "request"))
    return phrase("{good} of {sent} of {arm}", good=good, sent=sent, arm=arm)


def _counts_at(compared: Compared, best: SloCapacity) -> tuple[dict[str, Counts], float]:
    """Return every arm's counts at the highest load up to which the best arm held."""
    unit = load_unit(compared.cells)
    by_arm = {each.arm: slo_counts(compared.cells, each.arm, unit) for each in compared.slo_capacities}
    load = max(load for load in by_arm[best.arm][0] if load <= (best.load or 0) * (1 + 1e-9))
    return {arm: (held[load], sent[load]) for arm, (sent, held) in by_arm.items() if load in sent}, load


def _nearest(compared: Compared, best: SloCapacity, others: Sequence[SloCapacity]) -> SloCapacity:
    """Return the rival that holds most, by its load, then by its share where the best arm still held."""
    unit = load_unit(compared.cells)
    known = bool(slo_counts(compared.cells, best.arm, unit)[0])
    counts: Mapping[str, Counts] = _counts_at(compared, best)[0] if known else {}

    def rank(each: SloCapacity) -> tuple[float, float]:
        good, sent = counts.get(each.arm, (0.0, 1))
        return (each.load or 0.0, good / sent)

    return max(others, key=rank)


def _overlap(one: Counts, other: Counts) -> bool:
    (low, _), (_, high) = (_interval(each) for each in (one, other))
    return high >= low


def _interval(counts: Counts) -> tuple[float, float]:
    low, high = wilson(np.array([counts[0]]), np.array([float(counts[1])]))
    return float(low[0]), float(high[0])


def _tied(compared: Compared, tied: Sequence[SloCapacity]) -> Regime:
    """Rank arms that hold the SLO equally far by the first metric that tells one from all others at that load."""
    arms, best = [each.arm for each in tied], tied[0]
    rest = [each for each in compared.slo_capacities if each.arm not in arms]
    level = (*(each.arm for each in rest if best.low is None or _may_hold(each, best)), *_without(compared))
    held = _held_alike(compared, tied)
    for metric in _NEXT:
        judged = _next(compared, arms, metric, best.load or 0)
        if judged is not None and not judged.level_with:
            text = phrase(
                "{held}; of these, {arm} is {lead:.0%} ahead of {after} by {name}{level_words}",
                held=held,
                arm=judged.arm,
                lead=judged.lead,
                after=judged.next_best,
                name=METRICS[metric].name,
                level_words=level_words(level),
            )
            return replace(judged, text=text, level_with=level)
    text = phrase("Any of {arms}: {held}{level_words}", arms=listed(arms), held=held, level_words=level_words(level))
    return Regime(_NAME, None, text, "slo_share", best.load, (*arms, *level))


def _held_alike(compared: Compared, tied: Sequence[SloCapacity]) -> str:
    best, unit = tied[0], load_unit(compared.cells)
    if all(each.low is not None for each in tied):
        return phrase(
            "{arms} hold the SLO for {share:.0%} of their requests up to {load}{unit}{beyond}",
            arms=listed([each.arm for each in tied]),
            share=best.share,
            load=load_words(best.load),
            unit=unit_behind(load_words(best.load), unit),
            beyond=_beyond(best),
        )
    counts, load = _counts_at(compared, best)
    return phrase(
        "requests that hold the SLO at {place}{beyond}: {counts}; {share:.0%} takes {enough} requests a load at least",
        place=place(load, unit),
        beyond=_beyond(best),
        counts=first_of(", ", [_good(counts.get(each.arm), each.arm) for each in tied]),
        share=best.share,
        enough=enough(best.share),
    )


def _next(compared: Compared, arms: Sequence[str], metric: Metric, load: float) -> Regime | None:
    """Rank these arms by a metric at a load; None unless all of them have it there."""
    unit = load_unit(compared.cells)
    found = curves(compared.cells, metric, unit)
    if not all(arm in found for arm in arms):
        return None
    loads, logs = paired([found[arm] for arm in arms])
    if load not in loads:
        return None
    values = dict(zip(arms, np.exp(logs[:, loads.tolist().index(load)]).tolist(), strict=True))
    judge = Judge(_NAME, metric, load, unit, medians({arm: found[arm] for arm in arms}, load))
    return ranked(compared, judge, values)
