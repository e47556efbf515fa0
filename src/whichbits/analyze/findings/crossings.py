"""Which arms trade places, and how sure that is."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.load_curves import METRICS, load_words
from whichbits.analyze.summary import Crossover, Finding


def crossings(observed: Observed) -> Iterator[Finding]:
    """Name, for each metric, the pairs that trade places and the loads at which they do."""
    unit = {"concurrency": "concurrent requests", "request_rate": "requests/s"}
    for metric, measured in METRICS.items():
        compared = [crossover for crossover in observed.crossovers if crossover.metric == metric]
        crossing = [crossover for crossover in compared if crossover.verdict == "crosses"]
        if crossing:
            pairs = "; ".join(_crossing_pair(crossover) for crossover in crossing)
            text = (
                f"In {measured.name}, {len(crossing)} of {len(compared)} pairs of arms trade places "
                f"(loads in {unit[crossing[0].load_unit]}): {pairs}."
            )
            yield Finding("observed", "crossover", text, tuple(_ratios(crossover) for crossover in crossing))


def without_interval(observed: Observed) -> Iterator[Finding]:
    """Say that a crossing from one repeat is a line through single points."""
    single = observed.manifest.study.get("repeats") == 1
    if single and any(crossover.verdict == "crosses" for crossover in observed.crossovers):
        text = (
            "Crossings are interpolated from one repeat and carry no interval: where curves run close, noise "
            "alone can make arms trade places. Raise `repeats` before acting on such a crossing."
        )
        yield Finding("unresolved", "crossings_without_interval", text)


def _crossing_pair(crossover: Crossover) -> str:
    *before, last = (load_words(crossing.load) for crossing in crossover.crossings)
    if not before:
        return f"{_other(crossover)} passes {crossover.leader_low_load} at {last}"
    return f"{crossover.leader_low_load} and {_other(crossover)} swap at {', '.join(before)} and {last}"


def _other(crossover: Crossover) -> str:
    first, second = crossover.arms
    return second if crossover.leader_low_load == first else first


def _ratios(crossover: Crossover) -> str:
    points = zip(crossover.loads, crossover.ratios, strict=True)
    ratios = ", ".join(f"{ratio:.2f} at {load:g}" for load, ratio in points)
    return f"{' / '.join(crossover.arms)}: {ratios}"
