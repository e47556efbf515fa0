"""Where two arms trade places in a prediction: by the best constants, with what their draws make of it.

A predicted cell has no noise of its own: repeats and requests say nothing of how wrong it may be. What is open are the
predictor's constants, of which every cell of a run took the same draws. So each draw is a study in itself, with its own
crossing or none, and the interval is that of the draws.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from whichbits.analyze.crossings.decision import changes_of_sign, zero_between
from whichbits.analyze.crossings.pairing import Compared, Resampled
from whichbits.analyze.crossings.pairs import Judge
from whichbits.analyze.curves.load_curves import MARGIN, METRICS, comparable, load_unit
from whichbits.analyze.summary import CellSummary, Crossing, Crossover, CrossoverVerdict, Lead, Metric
from whichbits.language.phrase import joined, phrase
from whichbits.record.timelines import Floats

_Z = 1.96
_TAIL = 0.025

Draws = npt.NDArray[np.float64]
"""Log-ratios of two arms, shape (draws, loads)."""


def predicted_crossovers(
    cells: Sequence[CellSummary], arms: Sequence[str], drawn: Resampled, margin: float = MARGIN
) -> tuple[Crossover, ...]:
    """Return every pair of arms under every compared metric; ``drawn`` holds ln(metric) under each draw, by cell."""
    compared = Compared(cells, load_unit(cells), drawn)
    found = (_pair(compared, pair, metric, margin) for metric in METRICS for pair in combinations(arms, 2))
    return tuple(each for each in found if each is not None)


def judge_predicted(cells: Sequence[CellSummary], drawn: Resampled, margin: float = MARGIN) -> Judge:
    """Return what compares single pairs of a prediction's arms as ``predicted_crossovers`` compares all of them."""
    compared = Compared(cells, load_unit(cells), drawn)
    return lambda arms, metric: _pair(compared, arms, metric, margin)


def _pair(compared: Compared, arms: tuple[str, str], metric: Metric, margin: float) -> Crossover | None:
    first, second = (compared.placed(arm, metric) for arm in arms)
    # Repeats of a prediction are the same work again: the first one speaks.
    places = sorted(place for place in set(first) & set(second) if place[1] == 0)
    if not places:
        return None
    loads = np.array([load for load, _ in places])
    pairs = [(first[place], second[place]) for place in places]
    best = np.array([_log_ratio(one, other, metric) for one, other in pairs])
    draws = _draws(compared, pairs, metric)
    return _judged(loads, best, draws, (arms, metric, margin), compared)


def _log_ratio(one: CellSummary, other: CellSummary, metric: Metric) -> float:
    return float(np.log(comparable(one, metric) or np.nan) - np.log(comparable(other, metric) or np.nan))


def _draws(compared: Compared, pairs: Sequence[tuple[CellSummary, CellSummary]], metric: Metric) -> Draws:
    """Return no draws at all where some cell has none."""
    logs = [(compared.logs(one, metric), compared.logs(other, metric)) for one, other in pairs]
    known = [one - other for one, other in logs if one is not None and other is not None]
    return np.column_stack(known) if len(known) == len(pairs) else np.empty((0, len(pairs)))


def _judged(
    loads: Floats, best: Floats, draws: Draws, question: tuple[tuple[str, str], Metric, float], compared: Compared
) -> Crossover:
    arms, metric, margin = question
    turns = _turns(loads, best, margin)
    verdicts = [_verdict(loads, each, margin) for each in draws]
    verdict = _verdict(loads, best, margin)
    reach = _Z * draws.std(axis=0, ddof=1) if len(draws) > 1 else np.full(best.shape, np.nan)
    leaders = [_leader(arms, metric, value) for value in best[np.abs(best) > np.log1p(margin)].tolist()]
    return Crossover(
        metric=metric,
        arms=arms,
        verdict=verdict,
        crossings=_crossings(loads, turns, draws, margin),
        leader_low_load=leaders[0] if leaders else None,
        leader_high_load=leaders[-1] if leaders else None,
        load_unit=compared.unit,
        loads=tuple(loads.tolist()),
        ratios=tuple(np.exp(best).tolist()),
        note=joined("; ", _notes(verdict, verdicts, loads)) or None,
        ratio_intervals=tuple(zip(np.exp(best - reach).tolist(), np.exp(best + reach).tolist(), strict=True))
        if len(draws) > 1
        else (),
        lead=tuple(_lead(arms, metric, loads, best, reach)) if len(draws) > 1 else (),
        margin=margin,
    )


def _turns(loads: Floats, ratios: Floats, margin: float) -> list[tuple[float, bool]]:
    """Return the loads at which a curve passes zero between two leads beyond the margin, and whether it rises there."""
    log_load = np.log(loads)
    decisive = np.flatnonzero(np.abs(ratios) > np.log1p(margin))
    return [
        (float(np.exp(zero_between(log_load, ratios, left, right))), bool(ratios[right] > 0))
        for left, right in changes_of_sign(ratios, decisive)
    ]


def _verdict(loads: Floats, ratios: Floats, margin: float) -> CrossoverVerdict:
    if _turns(loads, ratios, margin):
        return "crosses"
    return "tie" if (np.abs(ratios) <= np.log1p(margin)).all() else "none"


def _crossings(loads: Floats, turns: Sequence[tuple[float, bool]], draws: Draws, margin: float) -> tuple[Crossing, ...]:
    """Give every crossing the interval of the draws' own."""
    if len(draws) < 2:
        return tuple(Crossing(zero, None, None) for zero, _ in turns)
    of_draw = _first_crossing if len(turns) == 1 else _same_crossing
    return tuple(_within(turn[0], [of_draw(loads, each, margin, turn) for each in draws]) for turn in turns)


def _within(best: float, drawn: Sequence[float]) -> Crossing:
    low, high = np.quantile(drawn, [_TAIL, 1 - _TAIL]).tolist()
    return Crossing(best, min(low, best), max(high, best))


def _first_crossing(loads: Floats, ratios: Floats, margin: float, best: tuple[float, bool]) -> float:
    """Return where a draw crosses; without a crossing, the end of the range beyond which it would."""
    zeros = [zero for zero, _ in _turns(loads, ratios, margin)]
    if zeros:
        return _nearest(zeros, best[0])
    # If the lead shrinks with load the arms would trade places above the range, else they did below it.
    shrinks = abs(ratios[-1]) < abs(ratios[0])
    return float(loads[-1] if shrinks else loads[0])


def _same_crossing(loads: Floats, ratios: Floats, margin: float, best: tuple[float, bool]) -> float:
    """Return where a draw crosses the same way as one of several crossings; without one, the end that it was pushed to.

    Where the draw still is as the best curve was before, it crosses later or not at all, else it did before.
    """
    load, rises = best
    zeros = [zero for zero, way in _turns(loads, ratios, margin) if way == rises]
    if zeros:
        return _nearest(zeros, load)
    above = np.interp(np.log(load), np.log(loads), ratios) > 0
    return float(loads[0] if above == rises else loads[-1])


def _nearest(zeros: Sequence[float], load: float) -> float:
    return min(zeros, key=lambda zero: abs(np.log(zero / load)))


def _leader(arms: tuple[str, str], metric: Metric, log_ratio: float) -> str:
    return arms[0] if (log_ratio < 0) == METRICS[metric].lower_is_better else arms[1]


def _lead(arms: tuple[str, str], metric: Metric, loads: Floats, best: Floats, reach: Floats) -> Iterator[Lead]:
    for at in sorted({0, loads.size - 1}):
        size = abs(best[at])
        by, low, high = np.expm1([size, size - reach[at], size + reach[at]]).tolist()
        yield Lead(float(loads[at]), _leader(arms, metric, float(best[at])), by, low, high)


def _notes(verdict: CrossoverVerdict, drawn: Sequence[CrossoverVerdict], loads: Floats) -> Iterator[str]:
    if drawn:
        crossing = drawn.count("crosses")
        yield phrase(
            "{crossing} of {count} draws of the predictor's constants cross", crossing=crossing, count=len(drawn)
        )
        if verdict == "crosses" and crossing * 2 < len(drawn):
            yield phrase("most draws do not: calibrate before acting on it")
    if loads.size == 1:
        yield phrase("one load only ({loads:g}): a crossing elsewhere cannot be seen", loads=loads[0])
