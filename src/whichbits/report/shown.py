"""What of a very large run is drawn: the foremost arms, at no more loads than a chart can show; the rule is told."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from whichbits.analyze.crossings.foremost import MOST_ARMS, foremost
from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.quality.measures import Quality
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import Phrase, phrase
from whichbits.record.schema import Manifest
from whichbits.report.wording import load_of

MOST_POINTS = 400
"""Arms times loads: so many points a chart shows apart, and so many rows its table has."""

_LEAST_LOADS = 4


@dataclass(frozen=True)
class Shown:
    """A run as charts and tables show it; ``summary`` and ``manifest`` have the shown arms and loads only.

    ``rules`` say which these are and where the others stand; none where everything is shown.
    """

    summary: Summary
    manifest: Manifest
    requests: Sequence[CellRequests] = ()
    rules: tuple[Phrase, ...] = ()


def shown(
    summary: Summary, manifest: Manifest, requests: Sequence[CellRequests] = (), most_points: int = MOST_POINTS
) -> Shown:
    """Return what to draw; the run itself where it is small enough."""
    arms = shown_arms(summary)
    loads = _shown_loads(summary, max(_LEAST_LOADS, most_points // max(1, len(arms))))
    rules = (*_rule_of_arms(summary, arms), *_rule_of_loads(summary, loads))
    if not rules:
        return Shown(summary, manifest, requests)
    cells = _cells(summary, arms, loads)
    return Shown(
        summary=_part(summary, arms, cells),
        manifest=replace(
            manifest,
            arms={name: record for name, record in manifest.arms.items() if name in arms},
            cells=tuple(cell for cell in manifest.cells if cell.cell in cells),
        ),
        requests=tuple(each for each in requests if each.cell.cell in cells),
        rules=rules,
    )


def shown_cells(summary: Summary) -> frozenset[int]:
    """Return the numbers of the cells that a page draws."""
    arms = shown_arms(summary)
    return _cells(summary, arms, _shown_loads(summary, max(_LEAST_LOADS, MOST_POINTS // max(1, len(arms)))))


def shown_arms(summary: Summary) -> tuple[str, ...]:
    """Return the arms to draw, at most ``MOST_ARMS``, in the study's order: those that the answer names come first."""
    if len(summary.arms) <= MOST_ARMS:
        return tuple(summary.arms)
    reference = None if summary.quality is None else summary.quality.reference
    wanted = dict.fromkeys((*_named(summary), *foremost(summary.cells, summary.arms, reference)))
    chosen = [arm for arm in wanted if arm in summary.arms][:MOST_ARMS]
    return tuple(arm for arm in summary.arms if arm in chosen)


def _named(summary: Summary) -> Iterator[str]:
    regimes = () if summary.answer is None else summary.answer.regimes
    yield from (regime.arm for regime in regimes if regime.arm is not None)
    yield from (arm for entry in summary.recommendation for arm, _, _ in entry.ranges)


def _loads(summary: Summary) -> list[float]:
    known = {load_of(cell, summary.load_unit) for cell in summary.cells}
    return sorted(load for load in known if load is not None)


def _shown_loads(summary: Summary, most: int) -> frozenset[float]:
    """Return at most ``most`` loads: those around changes of the lead for half of the room, the rest spaced evenly.

    Half of the rest is spaced along the axis, which is logarithmic, and half over the loads that are left.
    """
    loads = _loads(summary)
    if len(loads) <= most:
        return frozenset(loads)
    around = dict.fromkeys(load for turn in _turns(summary) for load in _beside(loads, turn))
    chosen = {loads[0], loads[-1], *list(around)[: most // 2 - 2]}
    along = np.geomspace(loads[0], loads[-1], max(2, (most - len(chosen)) // 2)) if loads[0] > 0 else ()
    chosen |= {min(loads, key=lambda load: abs(load - wanted)) for wanted in along}
    left = [load for load in loads if load not in chosen]
    places = np.linspace(0, len(left) - 1, most - len(chosen)).round().astype(int)
    return frozenset(chosen | {left[place] for place in places})


def _turns(summary: Summary) -> Iterator[float]:
    yield from (high for entry in summary.recommendation for _, _, high in entry.ranges if high is not None)


def _beside(loads: Sequence[float], turn: float) -> Iterator[float]:
    yield from (load for pair in pairwise(loads) if pair[0] <= turn <= pair[1] for load in pair)


def _cells(summary: Summary, arms: Collection[str], loads: Collection[float]) -> frozenset[int]:
    return frozenset(
        cell.cell
        for cell in summary.cells
        if cell.arm in arms and ((load := load_of(cell, summary.load_unit)) is None or load in loads)
    )


def _part(summary: Summary, arms: Collection[str], cells: Collection[int]) -> Summary:
    return replace(
        summary,
        arms={name: arm for name, arm in summary.arms.items() if name in arms},
        cells=tuple(cell for cell in summary.cells if cell.cell in cells),
        crossovers=tuple(each for each in summary.crossovers if set(each.arms) <= set(arms)),
        crossovers_by_capacity=tuple(each for each in summary.crossovers_by_capacity if set(each.arms) <= set(arms)),
        slo_capacities=tuple(each for each in summary.slo_capacities if each.arm in arms),
        profiles=tuple(each for each in summary.profiles if each.arm in arms),
        quality=summary.quality and _quality_of(arms, summary.quality),
    )


def _quality_of(arms: Collection[str], quality: Quality) -> Quality:
    return replace(
        quality,
        arms=tuple(each for each in quality.arms if each.arm in arms),
        trade_offs=tuple(each for each in quality.trade_offs if each.arm in arms),
    )


def _rule_of_arms(summary: Summary, arms: Sequence[str]) -> Iterator[Phrase]:
    if len(arms) < len(summary.arms):
        yield phrase(
            "{all} arms are too many to draw. Charts and tables show {count} of them: those that the answer names, "
            "that lead at most loads, or that come nearest to a lead. The answer and the findings are about all.",
            all=len(summary.arms),
            count=len(arms),
        )


def _rule_of_loads(summary: Summary, loads: Collection[float]) -> Iterator[Phrase]:
    known = _loads(summary)
    if len(loads) < len(known):
        yield phrase(
            "{all} loads are too many to draw. Charts and tables show {count} of them: those around changes of the "
            "lead, and others spaced evenly from the lowest to the highest. The answer and the findings are about all.",
            all=len(known),
            count=len(loads),
        )
