"""Where two arms trade places: the sign changes of their log-ratio over the logarithm of load, with intervals.

Between measured loads the log-ratio is taken as linear in log load, so that a power law is met exactly and the result
depends neither on the unit of the metric nor on which arm is named first. ``docs/crossover.md`` gives the method.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.crossings.bands import SPREAD, Bands, LogRatios, bands
from whichbits.analyze.crossings.decision import Decision, Zero, decide, ratio_intervals, repeats_needed
from whichbits.analyze.crossings.pairing import Compared, Resampled, same_load, same_share_of_capacity
from whichbits.analyze.crossings.pairs import Judge
from whichbits.analyze.curves.drain import OF_WHOLE_CELL, is_drained
from whichbits.analyze.curves.load_curves import MARGIN, METRICS, comparable, is_thin, load_of, load_unit, why_unusable
from whichbits.analyze.summary import CellSummary, Crossing, Crossover, Lead, LoadUnit, Metric
from whichbits.language.phrase import joined, phrase
from whichbits.record.timelines import Floats, Ints


@dataclass(frozen=True)
class _Question:
    """What is asked of a pair of arms."""

    arms: tuple[str, str]
    metric: Metric
    unit: LoadUnit
    margin: float


def crossovers(
    cells: Sequence[CellSummary], arms: Sequence[str], resampled: Resampled | None = None, margin: float = MARGIN
) -> tuple[Crossover, ...]:
    """Return every pair of arms under every compared metric, where there is a load that both served well."""
    compared = Compared(cells, load_unit(cells), resampled or {})
    found = (_by_load(compared, pair, metric, margin) for metric in METRICS for pair in combinations(arms, 2))
    return tuple(each for each in found if each.loads)


def judge(cells: Sequence[CellSummary], resampled: Resampled, margin: float = MARGIN) -> Judge:
    """Return what compares single pairs of a study's arms as ``crossovers`` compares all of them."""
    compared = Compared(cells, load_unit(cells), resampled)

    def judged(arms: tuple[str, str], metric: Metric) -> Crossover | None:
        found = _by_load(compared, arms, metric, margin)
        return found if found.loads else None

    return judged


def crossovers_by_capacity(
    cells: Sequence[CellSummary], arms: Sequence[str], resampled: Resampled | None = None, margin: float = MARGIN
) -> tuple[Crossover, ...]:
    """Return the same where each arm is loaded to the same share of its own capacity; for latencies only."""
    compared = Compared(cells, load_unit(cells), resampled or {})
    found = []
    for metric in (metric for metric in METRICS if metric.partition(".")[1]):
        for pair in combinations(arms, 2):
            ratios = same_share_of_capacity(compared, pair, metric)
            if ratios.log_load.size:
                found.append(_judged(ratios, _Question(pair, metric, "share_of_capacity", margin), ()))
    return tuple(found)


def crossover(
    cells: Sequence[CellSummary],
    arms: tuple[str, str],
    metric: Metric,
    resampled: Resampled | None = None,
    margin: float = MARGIN,
) -> Crossover:
    """Compare two arms at the loads that both served well; ``resampled`` says what each cell leaves open."""
    return _by_load(Compared(cells, load_unit(cells), resampled or {}), arms, metric, margin)


def _by_load(compared: Compared, arms: tuple[str, str], metric: Metric, margin: float) -> Crossover:
    ratios = same_load(compared, arms, metric)
    notes = _notes(compared, arms, metric, np.exp(ratios.log_load))
    return _judged(ratios, _Question(arms, metric, compared.unit, margin), notes)


def _judged(ratios: LogRatios, question: _Question, notes: Iterable[str]) -> Crossover:
    arms, metric = question.arms, question.metric
    if not ratios.log_load.size:
        note = joined("; ", notes) or None
        return Crossover(metric, arms, "none", (), None, None, question.unit, (), (), note, margin=question.margin)
    known = bands(ratios)
    decision = decide(known, question.margin)
    low, high = _decided_ends(decision, known.mean.size)
    needed = repeats_needed(known, question.margin) if decision.verdict == "noisy" else None
    return Crossover(
        metric=metric,
        arms=arms,
        verdict=decision.verdict,
        crossings=tuple(_crossing(zero) for zero in decision.zeros),
        leader_low_load=_leader(arms, metric, known.mean[low]),
        leader_high_load=_leader(arms, metric, known.mean[high]),
        load_unit=question.unit,
        loads=_loads(known.log_load),
        ratios=tuple(np.exp(known.mean).tolist()),
        note=joined("; ", [*notes, *_doubts(known)]) or None,
        ratio_intervals=ratio_intervals(known),
        lead=_lead(known, arms, metric),
        repeats=ratios.repeats,
        repeats_needed=None if needed is None else needed - ratios.repeats,
        margin=question.margin,
        spread_assumed=ratios.repeats == 1,
    )


def _decided_ends(decision: Decision, loads: int) -> tuple[Ints, Ints]:
    """Return the decisive load nearest to each end; in a noisy comparison only the end itself, if it is decisive."""
    decisive = decision.decisive
    if decision.verdict == "noisy":
        return decisive[decisive == 0], decisive[decisive == loads - 1]
    return decisive[:1], decisive[-1:]


def _loads(log_load: Floats) -> tuple[float, ...]:
    """Return the loads; through the logarithm and back, 3 must stay 3."""
    return tuple(float(f"{load:.12g}") for load in np.exp(log_load))


def _crossing(zero: Zero) -> Crossing:
    load, low, high = _loads(np.array([zero.log_load, zero.low, zero.high]))
    return Crossing(load, low, high)


def _leader(arms: tuple[str, str], metric: Metric, log_ratio: Floats) -> str | None:
    if not log_ratio.size:
        return None
    first_is_lower = bool(log_ratio[0] < 0)
    return arms[0] if first_is_lower == METRICS[metric].lower_is_better else arms[1]


def _lead(known: Bands, arms: tuple[str, str], metric: Metric) -> tuple[Lead, ...]:
    """Return who leads at the ends of the range, and by how much, in the estimate and at the interval's ends."""
    found = []
    for at in sorted({0, known.mean.size - 1}):
        size = abs(known.mean[at])
        reach = known.reach(0.025)[at]
        by, low, high = np.expm1([size, size - reach, size + reach]).tolist()
        arm = _leader(arms, metric, known.mean[[at]]) or arms[0]
        found.append(Lead(_loads(known.log_load)[at], arm, by, low, high))
    return tuple(found)


def _doubts(known: Bands) -> Iterable[str]:
    if known.repeats.max() == 1:
        yield phrase("one repeat: a spread of {spread:.0%} between repeats is assumed", spread=SPREAD)
        if not known.resampled:
            yield phrase("no requests to resample: a crossing may lie anywhere between the loads around it")


def _notes(compared: Compared, arms: tuple[str, str], metric: Metric, loads: Floats) -> Iterable[str]:
    mine = [cell for arm in arms for cell in compared.of_arm(arm)]
    if loads.size == 0:
        yield phrase("no load that both arms served well")
    if loads.size == 1:
        yield phrase("one load only ({loads:g}): a crossing elsewhere cannot be seen", loads=loads[0])
    left_out = sorted({reason for cell in mine if (reason := why_unusable(cell))})
    if left_out:
        count = sum(why_unusable(cell) is not None for cell in mine)
        yield phrase("{cells} left out: {list}", cells=cells_of(count, len(mine)), list=joined(", ", left_out))
    drained = sum(map(is_drained, mine)) if metric in OF_WHOLE_CELL else 0
    if drained:
        yield phrase("{cells} hold a drain", cells=cells_of(drained, len(mine)))
    thin = [cell for cell in mine if is_thin(cell, metric) and load_of(cell, compared.unit) is not None]
    dropped = [cell for cell in thin if comparable(cell, metric) is None]
    if dropped:
        yield phrase(
            "not compared in {cells}: fewer than 10 samples beyond the percentile",
            cells=cells_of(len(dropped), len(mine)),
        )
    elif thin:
        yield phrase("fewer than 10 samples beyond the percentile in some cells")
