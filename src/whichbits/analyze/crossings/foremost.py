"""Which arms of very many lead anywhere or come nearest to it: those are compared in pairs and drawn."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from whichbits.analyze.curves.load_curves import HEADLINES, METRICS, by_load, curves, load_unit
from whichbits.analyze.summary import CellSummary, Metric

MOST_ARMS = 12
"""So many arms a reader can tell apart in a chart; they make 66 pairs."""


def foremost(cells: Sequence[CellSummary], arms: Iterable[str], baseline: str | None = None) -> tuple[str, ...]:
    """Return all arms if they are no more than ``MOST_ARMS``, else the foremost of them, in the order given.

    First those that lead at most places, a place being a headline metric at a load, by the estimates; then those that
    come nearest to the lead at any place. The baseline, the first arm unless another is named, is always one of them.
    """
    names = tuple(arms)
    if len(names) <= MOST_ARMS:
        return names
    first = baseline if baseline in names else names[0]
    chosen = {first, *[arm for arm in nearest_first(cells, names) if arm != first][: MOST_ARMS - 1]}
    return tuple(arm for arm in names if arm in chosen)


def nearest_first(cells: Sequence[CellSummary], arms: Sequence[str]) -> list[str]:
    """Return the arms, those that lead at most places first, then by how near each came to a lead."""
    leads = dict.fromkeys(arms, 0)
    nearest = dict.fromkeys(arms, float("inf"))
    for behind in _places(cells):
        for arm in behind.keys() & leads.keys():
            leads[arm] += behind[arm] == 0
            nearest[arm] = min(nearest[arm], behind[arm])
    return sorted(arms, key=lambda arm: (-leads[arm], nearest[arm]))


def _places(cells: Sequence[CellSummary]) -> Iterator[dict[str, float]]:
    """Yield, for each headline metric and load, how far behind the best each arm is, in the metric's logarithm."""
    unit = load_unit(cells)
    for metric in HEADLINES:
        at_load: dict[float, dict[str, float]] = defaultdict(dict)
        for arm, curve in curves(cells, metric, unit).items():
            for load, met in by_load(curve).items():
                at_load[load][arm] = sum(met.values()) / len(met)
        yield from (_behind(values, metric) for values in at_load.values())


def _behind(values: dict[str, float], metric: Metric) -> dict[str, float]:
    best = min(values.values()) if METRICS[metric].lower_is_better else max(values.values())
    return {arm: abs(value - best) for arm, value in values.items()}
