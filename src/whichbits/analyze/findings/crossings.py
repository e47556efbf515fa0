"""Which arms trade places, and how sure that is."""

from collections.abc import Iterator

from whichbits.analyze.crossings.alignment import alignments_apart
from whichbits.analyze.crossings.bands import SPREAD
from whichbits.analyze.crossings.foremost import MOST_ARMS
from whichbits.analyze.crossings.tails import pair_and_leads, tails_apart, tails_not_compared
from whichbits.analyze.curves.cost import cheapest_at_slo
from whichbits.analyze.curves.load_curves import HEADLINES, METRICS, load_words, range_words
from whichbits.analyze.curves.slo import slo_loads
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Crossing, Crossover, Finding
from whichbits.language.phrase import joined, listed, phrase


def pairs_chosen(observed: Observed) -> Iterator[Finding]:
    """Say that not every pair of very many arms is compared, and which are."""
    drawn = tuple(dict.fromkeys(arm for each in observed.crossovers for arm in each.arms))
    arms = len(observed.arms) or len({cell.arm for cell in observed.cells})
    if arms > MOST_ARMS and drawn:
        text = phrase(
            "{arms} arms make {pairs} pairs, more than anyone reads. Findings about pairs are of {count} arms: those "
            "that lead at most loads, or that come nearest to a lead. Every arm was compared with the best one "
            "wherever the answer rests on it.",
            arms=arms,
            pairs=f"{arms * (arms - 1) // 2:,}",
            count=len(drawn),
        )
        yield Finding("observed", "pairs_chosen", text, (phrase("these are {list}", list=listed(drawn)),))


def crossings(observed: Observed) -> Iterator[Finding]:
    """Name, for each metric, the pairs that trade places and the loads at which they do, or may."""
    for metric in HEADLINES:
        name = METRICS[metric].name
        compared = [crossover for crossover in observed.crossovers if crossover.metric == metric]
        crossing = [crossover for crossover in compared if crossover.verdict == "crosses"]
        noisy = [crossover for crossover in compared if crossover.verdict == "noisy"]
        if crossing:
            yield _crossing(name, crossing, len(compared))
        if noisy:
            yield _noisy(name, noisy, len(compared))


def _crossing(name: str, crossing: list[Crossover], compared: int) -> Finding:
    unit = {"concurrency": phrase("concurrent requests"), "request_rate": "requests/s"}
    text = phrase(
        "In {name}, {who} (loads in {unit}, 95 % intervals in parentheses): {pairs}.",
        name=name,
        who=_trading(len(crossing), compared),
        unit=unit.get(crossing[0].load_unit),
        pairs=joined("; ", (_crossing_pair(crossover) for crossover in crossing)),
    )
    return Finding("observed", "crossover", text, tuple(_ratios(crossover) for crossover in crossing))


def _noisy(name: str, noisy: list[Crossover], compared: int) -> Finding:
    pairs = (phrase("{list} ({more})", list=joined(" / ", each.arms), more=_more(each)) for each in noisy)
    text = phrase(
        "In {name}, {who} to say which arm leads at which load. More repeats would settle it if estimates stay "
        "as they are: {pairs}.",
        name=name,
        who=_too_noisy(len(noisy), compared),
        pairs=joined("; ", pairs),
    )
    return Finding("unresolved", "crossover_noisy", text, tuple(map(pair_and_leads, noisy)), _quietened_by(noisy))


def _quietened_by(noisy: list[Crossover]) -> str:
    """Return what would settle every pair that repeats can settle; with none of those, each repeat is to tell more."""
    most = max((each.repeats_needed for each in noisy if each.repeats_needed is not None), default=None)
    if most is None:
        return phrase("longer cells, or a quieter machine")
    return phrase("1 more repeat of the study") if most == 1 else phrase("{most} more repeats of the study", most=most)


def without_interval(observed: Observed) -> Iterator[Finding]:
    """Say that intervals from one repeat rest on an assumption."""
    if any(crossover.spread_assumed and crossover.verdict == "crosses" for crossover in observed.crossovers):
        text = phrase(
            "Crossings come from one repeat. How much repeats differ was not measured: their intervals "
            "assume that a ratio of two arms varies by {spread:.0%} from repeat to repeat. Raise `repeats` "
            "before acting on a close one.",
            spread=SPREAD,
        )
        yield Finding("unresolved", "crossings_from_one_repeat", text, (), phrase("the same study with `repeats: 3`"))


def tails(observed: Observed) -> Iterator[Finding]:
    """Say where a tail tells another story than its median, and which tails are too thin to tell one."""
    yield from tails_apart(observed.crossovers)
    yield from tails_not_compared(observed.crossovers)


def alignments(observed: Observed) -> Iterator[Finding]:
    """Say where equal loads and equal shares of capacity give different answers."""
    yield from alignments_apart(observed.crossovers, observed.crossovers_by_capacity)


def service_levels(observed: Observed) -> Iterator[Finding]:
    """Say up to which load each arm holds the SLO, if there is one, and which is then the cheapest."""
    yield from slo_loads(observed.cells)
    yield from cheapest_at_slo(observed.slo_capacities)


def _crossing_pair(crossover: Crossover) -> str:
    *before, last = (_crossing_words(crossing) for crossing in crossover.crossings)
    if not before:
        return phrase(
            "{other} passes {leader_low_load} at {last}",
            other=_other(crossover),
            leader_low_load=crossover.leader_low_load,
            last=last,
        )
    return phrase(
        "{leader_low_load} and {other} swap at {list} and {last}",
        leader_low_load=crossover.leader_low_load,
        other=_other(crossover),
        list=joined(", ", before),
        last=last,
    )


def _crossing_words(crossing: Crossing) -> str:
    if crossing.low is None or crossing.high is None:
        return load_words(crossing.load)
    return phrase(
        "{load} ({range_words})", load=load_words(crossing.load), range_words=range_words((crossing.low, crossing.high))
    )


def _more(crossover: Crossover) -> str:
    more = crossover.repeats_needed
    return phrase("more than anyone would run") if more is None else phrase("{more} more", more=more)


def _other(crossover: Crossover) -> str:
    first, second = crossover.arms
    return second if crossover.leader_low_load == first else first


def _ratios(crossover: Crossover) -> str:
    points = enumerate(zip(crossover.loads, crossover.ratios, strict=True))
    ratios = joined(", ", (_ratio(crossover, at, load, ratio) for at, (load, ratio) in points))
    return phrase("{list}: {ratios}", list=joined(" / ", crossover.arms), ratios=ratios)


def _trading(count: int, total: int) -> str:
    if total == 1:
        return phrase("the two arms trade places")
    if count == 1:
        return phrase("1 of {total} pairs of arms trades places", total=total)
    return phrase("{count} of {total} pairs of arms trade places", count=count, total=total)


def _too_noisy(count: int, total: int) -> str:
    if total == 1:
        return phrase("the two arms are too noisy")
    if count == 1:
        return phrase("1 of {total} pairs of arms is too noisy", total=total)
    return phrase("{count} of {total} pairs of arms are too noisy", count=count, total=total)


def _ratio(crossover: Crossover, at: int, load: float, ratio: float) -> str:
    """Return a ratio with its interval; a prediction without draws has none."""
    if not crossover.ratio_intervals:
        return phrase("{ratio:.2f} at {load:g}", ratio=ratio, load=load)
    low, high = crossover.ratio_intervals[at]
    return phrase("{ratio:.2f} ({low:.2f} to {high:.2f}) at {load:g}", ratio=ratio, low=low, high=high, load=load)
