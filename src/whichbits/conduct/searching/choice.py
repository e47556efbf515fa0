"""What to measure next where several things are open: crossings of every pair and metric, and each arm's SLO load.

Pure functions of what has been met. Of all steps that can be afforded, the one is taken that closes the largest share
of its question for its time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from whichbits.analyze.crossings.bands import Bands, bands
from whichbits.analyze.crossings.pairing import Compared, Resampled, same_load
from whichbits.analyze.crossings.saturation import over_saturated_from
from whichbits.analyze.curves.load_curves import METRICS, AxisUnit, why_unusable
from whichbits.analyze.curves.slo import slo_bracket
from whichbits.analyze.summary import CellSummary, Metric
from whichbits.conduct.searching.search import Economy, May, Reason, Step, after_sweep

AS_LOADS_ALLOW = "as loads allow"

TRIES = 2
"""Cells of the sweep that the client limited, or in which requests failed, are measured once more."""

SWEEP = "coarse sweep"
BUDGET_SPENT = "the budget is spent"
APART = 0.05
"""Loads of one visit lie further apart than this, in log load."""

STUCK = "no load that the budget affords narrows it further"
NOTHING_TO_COMPARE = "no load was served well by two arms"
ANSWERED = "the answer is as narrow as asked"


@dataclass(frozen=True)
class Wanted:
    """What is to be known, and how well."""

    metrics: tuple[Metric, ...] = ("tpot_ms.p50",)
    slo: bool = False
    precision: float = 0.1


@dataclass(frozen=True)
class Situation:
    """What is known: ``cells`` that are done, and the arms that still serve; ``sweep`` are the loads to meet first.

    ``seconds`` is what a cell of an arm takes at a load, ``start_seconds`` what
    it takes to bring the arm up for it, ``seconds_left`` the rest of the budget.
    """

    arms: tuple[str, ...]
    sweep: tuple[int, ...]
    cells: Sequence[CellSummary]
    resampled: Resampled
    wanted: Wanted
    seconds: Callable[[str, int], float]
    start_seconds: Callable[[str], float]
    seconds_left: float
    unit: AxisUnit = "concurrency"
    chosen: frozenset[int] = frozenset()
    """Loads that are to be met already before anything is known of them; others must keep away from these."""

    def met(self, arm: str) -> set[int]:
        """Return the loads that the arm met in a cell that may decide, or in as many others as are tried."""
        mine = [cell for cell in self.cells if cell.arm == arm and cell.concurrency is not None]
        tries = Counter(cell.concurrency for cell in mine)
        return {
            cell.concurrency
            for cell in mine
            if cell.concurrency is not None and (why_unusable(cell) is None or tries[cell.concurrency] >= TRIES)
        }

    def tried(self, *arms: str) -> set[int]:
        """Return the loads that one of ``arms`` met, be it in a cell that must not decide."""
        return {cell.concurrency for cell in self.cells if cell.arm in arms and cell.concurrency is not None}

    def may(self, arms: Sequence[str]) -> May:
        """Return which loads these arms may meet: those that the budget affords, apart from those chosen already."""

        def allowed(load: int) -> bool:
            if self.takes(arms, load) > self.seconds_left:
                return False
            return all(abs(np.log(load / other)) > APART for other in self.chosen)

        return allowed

    def takes(self, arms: Sequence[str], load: int) -> float:
        """Return the seconds of one cell of each arm at a load, starts included."""
        return sum(self.start_seconds(arm) + self.seconds(arm, load) for arm in arms)

    @cached_property
    def saturated(self) -> dict[str, int]:
        """Return from which load on arms are over-saturated, of those that are."""
        found = {arm: over_saturated_from(self.cells, arm, self.resampled) for arm in self.arms}
        return {arm: load for arm, load in found.items() if load is not None}

    def compared(self, pair: tuple[str, str], metric: Metric) -> Bands | None:
        """Return what is known of a pair in a metric; None if it shares no load."""
        ratios = same_load(Compared(self.cells, self.unit, self.resampled), pair, metric)
        return bands(ratios) if ratios.log_load.size else None


@dataclass(frozen=True)
class Choice:
    """Arms that are to meet a load next, and what for; ``load`` None is the end, and ``purpose`` says why."""

    arms: tuple[str, ...]
    load: int | None
    purpose: str
    closes: float = 0.0


def choose(situation: Situation) -> Choice:
    """Return what to measure next, or why to stop."""
    if not situation.arms:
        return Choice((), None, "no arm is left")
    swept = sweep_choice(situation)
    if swept is not None:
        affordable = situation.takes(swept.arms, swept.load or 0) <= situation.seconds_left
        return swept if affordable else Choice((), None, BUDGET_SPENT)
    return refine(situation)


def sweep_choice(situation: Situation) -> Choice | None:
    """Return the lowest load of the sweep that arms have not met; None beyond the one that over-saturates all."""
    ends = [situation.saturated.get(arm) for arm in situation.arms]
    end = None if None in ends else max(load for load in ends if load is not None)
    for load in situation.sweep:
        missing = tuple(arm for arm in situation.arms if load not in situation.met(arm))
        if missing and (end is None or load <= end):
            # A cell that must not decide is made up for by all arms: only cells of one repeat are compared.
            return Choice(situation.arms if load in situation.tried(*missing) else missing, load, SWEEP)
    return None


def refine(situation: Situation) -> Choice:
    """Return the step after the sweep."""
    asked = list(_open_questions(situation))
    affordable = [each for each in asked if each.load is not None and situation.may(each.arms)(each.load)]
    if affordable:
        return max(affordable, key=lambda each: each.closes)
    if not asked:
        return Choice((), None, NOTHING_TO_COMPARE)
    if any(each.load is not None for each in asked):
        return Choice((), None, BUDGET_SPENT)
    stuck = [each for each in asked if each.purpose.endswith(AS_LOADS_ALLOW)]
    if not stuck:
        return Choice((), None, ANSWERED)
    affords_any = any(situation.may(each.arms)(load) for each in stuck for load in situation.sweep)
    return Choice((), None, STUCK if affords_any else BUDGET_SPENT)


def wanting_seconds(situation: Situation) -> float | None:
    """Return how much longer the search would have to be, at least; None if nothing measured says.

    The rest of the sweep, with a start of each arm, by what cells took. After it, each open question takes the time in
    which its next step would close all of it at its present rate; a question that others close, too, is counted still.
    """
    missing = [(arm, load) for load in situation.sweep for arm in situation.arms if load not in situation.tried(arm)]
    if missing:
        starts = sum(situation.start_seconds(arm) for arm in dict.fromkeys(arm for arm, _ in missing))
        return starts + sum(situation.seconds(arm, load) for arm, load in missing) or None
    asked = _open_questions(replace(situation, seconds_left=float("inf")))
    return sum(1 / each.closes for each in asked if each.load is not None and each.closes > 0) or None


def _open_questions(situation: Situation) -> Iterator[Choice]:
    for pair in combinations(situation.arms, 2):
        for metric in situation.wanted.metrics:
            known = situation.compared(pair, metric)
            if known is not None:
                step = after_sweep(known, _economy(situation, pair), situation.may(pair))
                yield Choice(pair, step.load, _purpose(step.reason, question(pair, metric)), step.closes)
    if situation.wanted.slo:
        for arm in situation.arms:
            step = slo_step(slo_bracket(situation.cells, arm, "concurrency"), _economy(situation, (arm,)))
            yield Choice((arm,), step.load, f"narrows the highest load of {arm} that holds the SLO", step.closes)


def _purpose(reason: Reason, asked: str) -> str:
    if reason == "narrows the crossing":
        return f"narrows the crossing of {asked}"
    return f"settles who leads between {asked}" if reason == "settles who leads" else reason


def slo_step(bracket: tuple[float | None, float | None], economy: Economy) -> Step:
    """Return the load that halves the range between a load that holds the SLO and one that does not."""
    holds, breaks = bracket
    if holds is None or breaks is None:
        return Step(None, "settled")
    width = float(np.log(breaks / holds))
    if width <= economy.wanted or breaks - holds <= 1:
        return Step(None, "placed", breaks / holds)
    load = int(np.clip(round(np.sqrt(holds * breaks)), holds + 1, breaks - 1))
    return Step(load, "narrows the SLO's load", breaks / holds, 0.5 / economy.seconds(load))


def _economy(situation: Situation, arms: Sequence[str]) -> Economy:
    return Economy(lambda load: situation.takes(arms, load), situation.wanted.precision)


def question(pair: tuple[str, str], metric: Metric) -> str:
    """Name what is open between two arms."""
    return f"{pair[0]} / {pair[1]} in {METRICS[metric].name}"
