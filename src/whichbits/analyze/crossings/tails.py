"""Whether the tail of a latency says the same as its middle: crossings and leads of p50, p90 and p99 side by side."""

from collections.abc import Iterator, Sequence

from whichbits.analyze.curves.load_curves import METRICS, TAILS, load_words, range_words
from whichbits.analyze.summary import Crossover, Finding, Lead, Metric
from whichbits.language.phrase import joined, phrase

LATENCIES: dict[str, tuple[Metric, ...]] = {
    phrase("decoding"): ("tpot_ms.p50", "tpot_ms.p90", "tpot_ms.p99", "itl_ms.p99"),
    "TTFT": ("ttft_ms.p50", "ttft_ms.p90", "ttft_ms.p99"),
    "E2E": ("e2e_ms.p50", "e2e_ms.p99"),
}
"""The middle first, then its tails."""


def tails_apart(crossovers: Sequence[Crossover]) -> Iterator[Finding]:
    """Name the pairs of arms of which the tail tells another story than the median."""
    by_question = {(crossover.metric, crossover.arms): crossover for crossover in crossovers}
    for name, (median, *tails) in LATENCIES.items():
        for pair in dict.fromkeys(crossover.arms for crossover in crossovers):
            middle = by_question.get((median, pair))
            found = [by_question[metric, pair] for metric in tails if (metric, pair) in by_question]
            if middle is not None and any(tells_apart(middle, tail) for tail in found):
                told = joined(
                    "; ",
                    (
                        phrase("{name} {told_of}", name=METRICS[each.metric].name, told_of=told_of(each))
                        for each in (middle, *found)
                    ),
                )
                text = phrase(
                    "{list}: the tail of {name} tells another story than its median: {told}.",
                    list=joined(" / ", pair),
                    name=name,
                    told=told,
                )
                yield Finding("observed", "tail_apart", text, tuple(_leads_apart(middle, found)))


def tails_not_compared(crossovers: Sequence[Crossover]) -> Iterator[Finding]:
    """Say which tails are too thin to decide between any arms."""
    seen = {crossover.metric for crossover in crossovers}
    asked = [metric for metrics in LATENCIES.values() if metrics[0] in seen for metric in metrics]
    thin = [METRICS[metric].name for metric in asked if metric not in seen and metric.endswith(TAILS)]
    if thin:
        text = phrase(
            "Not compared, as fewer than 10 samples lie beyond the percentile: {list}. A cell needs 100 "
            "requests for a p90 and 1000 for a p99.",
            list=joined(", ", thin),
        )
        yield Finding(
            "unresolved", "tails_not_compared", text, (), phrase("cells of 1000 requests or more (`cell.at_least`)")
        )


def told_of(crossover: Crossover) -> str:
    """Return what a pair does over load in a few words: ``crosses at 12 (9.5 to 16)``, ``a leads``, ``ties``."""
    match crossover.verdict:
        case "crosses":
            return phrase("crosses at {list}", list=joined(", ", _crossing_words(crossover)))
        case "none":
            return phrase("is {leader_low_load}'s throughout", leader_low_load=crossover.leader_low_load)
        case "tie":
            return phrase("ties")
        case _:
            return phrase("is too noisy to say")


def _crossing_words(crossover: Crossover) -> Iterator[str]:
    for crossing in crossover.crossings:
        known = crossing.low is not None and crossing.high is not None
        interval = (
            phrase(" ({range_words})", range_words=range_words((crossing.low or 0, crossing.high or 0)))
            if known
            else ""
        )
        yield phrase("{load}{interval}", load=load_words(crossing.load), interval=interval)


def tells_apart(middle: Crossover, tail: Crossover) -> bool:
    """Say whether both cross at loads that differ beyond doubt, or a median's lead is lost in the tail."""
    crossing = zip(middle.crossings, tail.crossings, strict=False)
    return bool(lost_leads(middle, tail)) or any(
        None not in (one.low, one.high, other.low, other.high)
        and _disjoint((one.low or 0, one.high or 0), (other.low or 0, other.high or 0))
        for one, other in crossing
    )


def lost_leads(middle: Crossover, tail: Crossover) -> list[float]:
    """Return the loads at which an arm leads in the median beyond doubt, but in the tail by no more than the margin.

    The intervals of both ratios must lie apart, so that it is not noise that hides the lead. Without intervals, as in a
    prediction without draws, nothing is beyond doubt.
    """
    if not (middle.ratio_intervals and tail.ratio_intervals):
        return []
    tails = dict(zip(tail.loads, zip(tail.ratios, tail.ratio_intervals, strict=True), strict=True))
    margin = 1 + (middle.margin or 0)
    lost = []
    for load, ratio, interval in zip(middle.loads, middle.ratios, middle.ratio_intervals, strict=True):
        if load in tails and not interval[0] <= 1 <= interval[1]:
            kept, other = tails[load]
            lead = 1 / kept if ratio < 1 else kept
            lost += [load] if lead <= margin and _disjoint(interval, other) else []
    return lost


def _disjoint(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[1] < other[0] or other[1] < one[0]


def _leads_apart(middle: Crossover, tails: Sequence[Crossover]) -> Iterator[str]:
    for tail in tails:
        for load in lost_leads(middle, tail):
            names = (METRICS[each.metric].name for each in (middle, tail))
            ratios = (each.ratios[each.loads.index(load)] for each in (middle, tail))
            told = joined(
                ", ",
                (
                    phrase("{name} {ratio:.2f}", name=name, ratio=ratio)
                    for name, ratio in zip(names, ratios, strict=True)
                ),
            )
            yield phrase("{list} at {load:g}: {told}", list=joined(" / ", middle.arms), load=load, told=told)
    yield from (
        phrase("{name}: {leads}", name=METRICS[each.metric].name, leads=_leads(each)) for each in (middle, *tails)
    )


def pair_and_leads(crossover: Crossover) -> str:
    """Return who leads at the ends of the range, and by how much, in one line."""
    return phrase("{list}: {leads}", list=joined(" / ", crossover.arms), leads=_leads(crossover))


def _leads(crossover: Crossover) -> str:
    return joined(", ", (_lead(lead) for lead in crossover.lead))


def _lead(lead: Lead) -> str:
    return phrase(
        "{arm} ahead by {by:.0%} ({low:.0%} to {high:.0%}) at {load:g}",
        arm=lead.arm,
        by=lead.by,
        low=lead.low,
        high=lead.high,
        load=lead.load,
    )
