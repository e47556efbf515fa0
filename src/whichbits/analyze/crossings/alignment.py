"""Whether arms compare differently at equal loads and at equal shares of each arm's own capacity."""

from collections.abc import Iterator, Sequence

from whichbits.analyze.crossings.tails import told_of
from whichbits.analyze.curves.load_curves import HEADLINES, METRICS
from whichbits.analyze.summary import Crossover, Finding
from whichbits.language.phrase import joined, phrase


def alignments_apart(by_load: Sequence[Crossover], by_capacity: Sequence[Crossover]) -> Iterator[Finding]:
    """Name the pairs of which the arm that leads depends on what is held equal; noisy ones say nothing."""
    at_capacity = {(each.metric, each.arms): each for each in by_capacity}
    for each in by_load:
        other = at_capacity.get((each.metric, each.arms))
        if each.metric in HEADLINES and other is not None and _differs(each, other):
            text = phrase(
                "{name} of {list} depends on what is held equal: at equal loads it {told_of}, at equal shares of "
                "each arm's own capacity it {told_of_2}.",
                name=METRICS[each.metric].name,
                list=joined(" / ", each.arms),
                told_of=told_of(each),
                told_of_2=told_of(other),
            )
            yield Finding("observed", "alignment_matters", text, (_ratios(each), _ratios(other)))


def _differs(one: Crossover, other: Crossover) -> bool:
    if "noisy" in (one.verdict, other.verdict):
        return False
    return (one.verdict, one.leader_low_load) != (other.verdict, other.leader_low_load)


def _ratios(crossover: Crossover) -> str:
    unit = {"share_of_capacity": phrase("share of capacity")}.get(crossover.load_unit, "load")
    points = zip(crossover.loads, crossover.ratios, strict=True)
    return phrase("by {unit}: ", unit=unit) + joined(
        ", ", (phrase("{ratio:.2f} at {load:.3g}", ratio=ratio, load=load) for load, ratio in points)
    )
