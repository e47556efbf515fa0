"""Which arms trade places, and how sure that is."""

from collections.abc import Iterator

from whichbits.analyze.alignment import alignments_apart
from whichbits.analyze.bands import SPREAD
from whichbits.analyze.cost import cheapest_at_slo
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.load_curves import HEADLINES, METRICS, load_words, range_words
from whichbits.analyze.slo import slo_loads
from whichbits.analyze.summary import Crossing, Crossover, Finding
from whichbits.analyze.tails import pair_and_leads, tails_apart, tails_not_compared


def crossings(observed: Observed) -> Iterator[Finding]:
    """Name, for each metric, the pairs that trade places and the loads at which they do, or may."""
    unit = {"concurrency": "concurrent requests", "request_rate": "requests/s"}
    for metric in HEADLINES:
        name = METRICS[metric].name
        compared = [crossover for crossover in observed.crossovers if crossover.metric == metric]
        crossing = [crossover for crossover in compared if crossover.verdict == "crosses"]
        noisy = [crossover for crossover in compared if crossover.verdict == "noisy"]
        if crossing:
            pairs = "; ".join(_crossing_pair(crossover) for crossover in crossing)
            text = (
                f"In {name}, {len(crossing)} of {len(compared)} pairs of arms trade places "
                f"(loads in {unit.get(crossing[0].load_unit)}, 95 % intervals in parentheses): {pairs}."
            )
            yield Finding("observed", "crossover", text, tuple(_ratios(crossover) for crossover in crossing))
        if noisy:
            pairs = "; ".join(f"{' / '.join(crossover.arms)} ({_more(crossover)})" for crossover in noisy)
            text = (
                f"In {name}, {len(noisy)} of {len(compared)} pairs of arms are too noisy to say where which arm "
                f"leads. More repeats would settle it if estimates stay as they are: {pairs}."
            )
            lines = tuple(pair_and_leads(crossover) for crossover in noisy)
            yield Finding("unresolved", "crossover_noisy", text, lines, "as many more repeats as named for each pair")


def without_interval(observed: Observed) -> Iterator[Finding]:
    """Say that intervals from one repeat rest on an assumption."""
    if any(crossover.spread_assumed and crossover.verdict == "crosses" for crossover in observed.crossovers):
        text = (
            f"Crossings come from one repeat. How much repeats differ was not measured: their intervals assume that a "
            f"ratio of two arms varies by {SPREAD:.0%} from repeat to repeat. Raise `repeats` before acting on a "
            f"close one."
        )
        yield Finding("unresolved", "crossings_from_one_repeat", text, (), "the same study with `repeats: 3`")


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
        return f"{_other(crossover)} passes {crossover.leader_low_load} at {last}"
    return f"{crossover.leader_low_load} and {_other(crossover)} swap at {', '.join(before)} and {last}"


def _crossing_words(crossing: Crossing) -> str:
    if crossing.low is None or crossing.high is None:
        return load_words(crossing.load)
    return f"{load_words(crossing.load)} ({range_words((crossing.low, crossing.high))})"


def _more(crossover: Crossover) -> str:
    more = crossover.repeats_needed
    return "more than anyone would run" if more is None else f"{more} more"


def _other(crossover: Crossover) -> str:
    first, second = crossover.arms
    return second if crossover.leader_low_load == first else first


def _ratios(crossover: Crossover) -> str:
    points = zip(crossover.loads, crossover.ratios, crossover.ratio_intervals, strict=True)
    ratios = ", ".join(f"{ratio:.2f} ({low:.2f} to {high:.2f}) at {load:g}" for load, ratio, (low, high) in points)
    return f"{' / '.join(crossover.arms)}: {ratios}"
