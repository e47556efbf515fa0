"""In which range of load which arm is best, where one hands over to the next, and where nothing tells them apart.

Whoever is level with the best stays: within the margin of it, or not told from it by the interval of their ratio. So
noise does not make arms take turns.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whichbits.analyze.crossings.decision import zero_between
from whichbits.analyze.curves.load_curves import MARGIN, METRICS
from whichbits.analyze.summary import Crossing, Crossover
from whichbits.record.timelines import Floats

Range = tuple[str, float | None, float | None]
Interval = tuple[float, float]


class Turn(NamedTuple):
    """A handover: at which load, the interval of its crossing, or else the loads over which nobody is told apart."""

    load: float
    uncertain: Interval | None = None
    undecided: Interval | None = None
    told: tuple[bool, bool] = (False, False)
    """Whether the first arm leads beyond doubt where that begins, and the second where it ends."""


class Stretch(NamedTuple):
    """A part of the loads and the arm that leads there, or the two of which nothing tells which does."""

    arms: tuple[str, ...]
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Field:
    """The arms at the loads that all share; ``cost`` is ln(metric), lower the better, shape (arms, loads)."""

    arms: tuple[str, ...]
    loads: Floats
    cost: Floats
    between: Callable[[str, str], Crossover | None]
    """How two arms compare by the metric."""
    judged: bool = True
    """False if nothing at all was compared by it."""

    @cached_property
    def _told(self) -> dict[tuple[str, str], dict[float, bool]]:
        """What was asked for: of each load the best arm is held against every other one."""
        return {}

    def ranges(self) -> tuple[tuple[Range, ...], tuple[Turn, ...]]:
        """Cover the loads, each time with the arm that stays level with the best for longest."""
        chosen = self._chosen()
        names = [self.arms[arm] for arm, _ in chosen]
        turns = _in_order([self._turn(before, after, at) for (before, _), (after, at) in pairwise(chosen)])
        bounds = [None, *(turn.load for turn in turns), None]
        return tuple((name, bounds[i], bounds[i + 1]) for i, name in enumerate(names)), turns

    def told_apart(self, arm: str, other: str) -> dict[float, bool]:
        """Return by load whether the first of two arms leads beyond doubt.

        It does where the interval of their ratio leaves out 1, and outside a crossing's interval, where that is placed.
        """
        if (arm, other) not in self._told:
            each = self.between(arm, other)
            self._told[arm, other] = {} if each is None else self._leads(each, arm)
        return self._told[arm, other]

    def _leads(self, each: Crossover, arm: str) -> dict[float, bool]:
        wanted = (each.arms[0] == arm) == METRICS[each.metric].lower_is_better
        intervals = zip(each.loads, each.ratio_intervals, strict=False)
        found = {load: high < 1 if wanted else low > 1 for load, (low, high) in intervals}
        ahead = (load for load, ratio in zip(each.loads, each.ratios, strict=True) if (ratio < 1) == wanted)
        return found | {load: True for load in ahead if self._beyond_crossings(each, load) == arm}

    def _beyond_crossings(self, pair: Crossover, load: float) -> str | None:
        """Return who leads at a load that lies outside all that a pair's placed crossings span; None within it."""
        placed = [(each.low, each.high) for each in pair.crossings if self._is_placed(each)]
        if pair.verdict != "crosses" or len(placed) != len(pair.crossings) or not placed:
            return None
        if load <= min(low or 0.0 for low, _ in placed):
            return pair.leader_low_load
        return pair.leader_high_load if load >= max(high or 0.0 for _, high in placed) else None

    def _is_placed(self, crossing: Crossing) -> bool:
        """Say whether more is known of a crossing than that it lies in the range."""
        lowest, highest = self.loads[[0, -1]].tolist()
        known = crossing.low is not None and crossing.high is not None
        return known and ((crossing.low or 0) > lowest or (crossing.high or 0) < highest)

    def level_at(self, found: Range, other: str) -> list[list[float]]:
        """Return the loads of a range at which its arm is not shown to lead the other, neighbours together."""
        told = self.told_apart(found[0], other)
        within = [(found[1] or 0) <= load <= (found[2] or np.inf) for load in self.loads.tolist()]
        runs: list[list[float]] = []
        for at in np.flatnonzero(within).tolist():
            load = float(self.loads[at])
            if _at(told, load) is not False:
                continue
            if runs and runs[-1][-1] == self.loads[at - 1]:
                runs[-1].append(load)
            else:
                runs.append([load])
        return runs

    def _chosen(self) -> list[tuple[int, int]]:
        level, chosen, at = self._level(), [], 0
        while at < self.loads.size:
            arm, end = _longest(level, self.cost, at)
            chosen.append((arm, at))
            at = end
        return chosen

    def _level(self) -> npt.NDArray[np.bool_]:
        level: npt.NDArray[np.bool_] = self.cost <= self.cost.min(axis=0) + np.log1p(MARGIN)
        for at, load in enumerate(self.loads.tolist()):
            best = self.arms[int(np.argmin(self.cost[:, at]))]
            for arm, name in enumerate(self.arms):
                level[arm, at] |= _at(self.told_apart(best, name), load) is False
        return level

    def _turn(self, before: int, after: int, at: int) -> Turn:
        load = _estimated(self.loads, self.cost[before] - self.cost[after], at)
        first, then = self.arms[before], self.arms[after]
        if self.between(first, then) is None:
            return Turn(load)
        if (crossing := self._crossing(first, then, load)) is not None:
            return Turn(crossing.load, (crossing.low or crossing.load, crossing.high or crossing.load))
        ahead, behind = self.told_apart(first, then), self.told_apart(then, first)
        last = [each for each in self.loads[:at].tolist() if _at(ahead, each)]
        next_ = [each for each in self.loads[at:].tolist() if _at(behind, each)]
        lowest, highest = self.loads[[0, -1]].tolist()
        between = (last[-1] if last else lowest, next_[0] if next_ else highest)
        return Turn(load, undecided=between, told=(bool(last), bool(next_)))

    def _crossing(self, first: str, then: str, load: float) -> Crossing | None:
        """Return the pair's placed crossing that is nearest to the load."""
        each = self.between(first, then)
        crossings = each.crossings if each is not None and each.verdict == "crosses" else ()
        placed = [crossing for crossing in crossings if self._is_placed(crossing)]
        return min(placed, key=lambda each: abs(np.log(each.load / load)), default=None)


def stretches(ranges: Sequence[Range], turns: Sequence[Turn], ends: Interval) -> Iterator[Stretch]:
    """Return the ranges with the stretches between them over which nothing tells which of two arms leads.

    ``ends`` are the lowest and the highest load compared. Of a stretch that begins or ends there, None stands for it;
    an arm that leads beyond doubt at such an end only keeps a stretch of this one load.
    """
    start: float | None = None
    sure = True
    for (arm, _, _), (then, _, _), turn in zip(ranges, ranges[1:], turns, strict=False):
        if turn.undecided is None:
            yield Stretch((arm,), start, turn.load)
            start, sure = turn.load, True
            continue
        low, high = (max(load, start or ends[0]) for load in turn.undecided)
        if sure and (turn.told[0] or low > (start or ends[0])):
            yield Stretch((arm,), start, low)
            start = low
        sure = turn.told[1]
        yield Stretch((arm, then), start, high if sure else None)
        start = high
    if ranges and sure:
        yield Stretch((ranges[-1][0],), start, None)


def _in_order(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return handovers at rising loads; crossings of different pairs may overlap, and then lie side by side."""
    found: list[Turn] = []
    for turn in turns:
        lowest = found[-1].load if found else 0.0
        found.append(turn if turn.load > lowest else turn._replace(load=lowest * 1.0001))
    return tuple(found)


def _at(told: dict[float, bool], load: float) -> bool | None:
    """Return what is told of a load; it went through its logarithm."""
    if load in told:
        return told[load]
    return next((value for at, value in told.items() if math.isclose(at, load, rel_tol=1e-9, abs_tol=1e-8)), None)


def _longest(level: npt.NDArray[np.bool_], cost: Floats, at: int) -> tuple[int, int]:
    """Return the arm that is level from ``at`` on for most loads, and the first load at which it is not.

    Of several, the one with the lowest mean cost there.
    """
    ends = [at + int(np.argmin([*row[at:], False])) for row in level]
    arm = min(range(len(ends)), key=lambda arm: (-ends[arm], cost[arm, at : max(ends)].mean()))
    return arm, ends[arm]


def _estimated(loads: Floats, lead: Floats, at: int) -> float:
    """Return the load at which the next arm passes the last; ``lead`` is negative where the last was better.

    Where the last one never was, its range ends between the two loads around the handover.
    """
    ahead = np.flatnonzero(lead[:at] < 0)
    if not ahead.size or lead[at] < 0:
        return float(np.sqrt(loads[at - 1] * loads[at]))
    return float(np.exp(zero_between(np.log(loads), lead, int(ahead[-1]), at)))
