"""Where two arms trade places, and by how much either leads."""

from dataclasses import dataclass
from typing import Literal

from whichbits.analyze.summary.metric import LoadUnit, Metric

CrossoverVerdict = Literal["crosses", "none", "tie", "noisy"]


@dataclass(frozen=True)
class Crossing:
    """A load at which the better arm changes; ``low`` to ``high`` is its 95 % interval, None if not estimated."""

    load: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Lead:
    """Which arm leads at a load and by how much: ``by`` 0.24 is 24 %; ``low`` to ``high`` is its 95 % interval.

    ``arm`` is ahead in the estimate; where ``low`` is below zero, it may in truth be behind.
    """

    load: float
    arm: str
    by: float
    low: float
    high: float


@dataclass(frozen=True)
class Crossover:
    """Where two arms trade places for one metric, over the loads that both served."""

    metric: Metric
    arms: tuple[str, str]
    verdict: CrossoverVerdict
    crossings: tuple[Crossing, ...]
    leader_low_load: str | None
    leader_high_load: str | None
    load_unit: LoadUnit
    loads: tuple[float, ...]
    ratios: tuple[float, ...]
    """First arm's value over the second's at each load; below 1 the first is lower."""
    note: str | None = None
    ratio_intervals: tuple[tuple[float, float], ...] = ()
    """95 % interval of each ratio."""
    lead: tuple[Lead, ...] = ()
    """At the lowest and at the highest load."""
    repeats: int | None = None
    repeats_needed: int | None = None
    """How many more would settle a noisy comparison; None if it is settled, or if too many."""
    margin: float | None = None
    """Arms whose ratio lies within 1 + margin, either way, are taken as equal."""
    spread_assumed: bool = False
    """True if there is one repeat only: how much repeats differ is then assumed, not measured."""

    def is_placed(self, crossing: Crossing) -> bool:
        """Return whether more is known of a crossing than that it lies in the range of loads compared."""
        if crossing.low is None or crossing.high is None or not self.loads:
            return True  # nobody estimated an interval: the load stands for itself
        return crossing.low > self.loads[0] or crossing.high < self.loads[-1]

    @property
    def leaders(self) -> tuple[str, ...]:
        """The arms that lead from the lowest load to the highest, in turn; empty where nothing crosses."""
        if self.verdict != "crosses" or self.leader_low_load is None:
            return ()
        after = self.arms[1] if self.leader_low_load == self.arms[0] else self.arms[0]
        return tuple((self.leader_low_load, after)[turn % 2] for turn in range(len(self.crossings) + 1))
