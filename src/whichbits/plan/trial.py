"""One replica tried at rates of arrival: what its requests waited, and the highest rate at which they hold an SLO."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log

import numpy as np

from whichbits.plan.demand import at
from whichbits.predict.cell import Question, play_cell
from whichbits.predict.constants import Constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.step_time import pace_of
from whichbits.predict.simulation.workload import Workload
from whichbits.record.timelines import Floats
from whichbits.study.model import Slo

BOUNDS = ("ttft_ms", "tpot_ms", "e2e_ms")
_SLOWEST = 0.01
_STEP = 1.1
"""Rates are tried on a grid of a tenth, so that one trial serves several SLOs; capacity is read between two of them."""
_STRIDE = 8
_FIRST = 40
_LAST = 160
_FILLING = 0.1
"""Share of a trial's requests, at its start, that meet an emptier replica than the rest and are not judged."""


@dataclass(frozen=True)
class Trial:
    """Times in ms of the requests that are judged; TPOT is NaN for answers of one token."""

    rate: float
    times: dict[str, Floats]

    def share(self, slo: Slo, factor: float = 1.0) -> float:
        """Return the share of requests that hold all bounds, each of them ``factor`` times as long."""
        held = np.ones(len(self.times["ttft_ms"]), dtype=bool)
        for name, bound in bounds_of(slo).items():
            held &= ~(self.times[name] > factor * bound)
        return float(held.mean())

    def worst_bound(self, slo: Slo, factor: float = 1.0) -> str:
        """Return the bound that most requests break."""
        broken = {name: float((self.times[name] > factor * bound).mean()) for name, bound in bounds_of(slo).items()}
        return max(broken, key=lambda name: broken[name])

    def percentile(self, name: str, percent: float) -> float:
        """Return a percentile in ms; NaN if no request has that time."""
        known = self.times[name][~np.isnan(self.times[name])]
        return float(np.percentile(known, percent)) if known.size else float("nan")


def bounds_of(slo: Slo) -> dict[str, float]:
    """Return the bounds that an SLO has, in ms."""
    return {name: bound for name in BOUNDS if (bound := getattr(slo, name)) is not None}


class Trials:
    """A replica's trials under one set of constants; each rate of the grid is played at most once."""

    def __init__(self, deployment: Deployment, sample: Workload, constants: Constants) -> None:
        self._deployment, self._sample, self._constants = deployment, sample, constants
        self._played: dict[int, Trial] = {}

    @cached_property
    def alone(self) -> Trial:
        """The trial at the slowest rate, where requests hardly ever meet."""
        return self.on_grid(0)

    def on_grid(self, step: int) -> Trial:
        """Return the trial at a rate of the grid, in requests per second from 0.01 on."""
        if step not in self._played:
            self._played[step] = self._play(_SLOWEST * _STEP**step)
        return self._played[step]

    def near(self, rate: float) -> Trial:
        """Return the trial at the grid's rate next to ``rate``."""
        return self.on_grid(max(round(log(rate / _SLOWEST) / log(_STEP)), 0))

    def front_end_busy(self, rate: float) -> float:
        """Return the share of its time that the process before the engine is busy at ``rate`` requests/s."""
        pace = pace_of(self._deployment, self._constants)
        answered = sum(self._sample.output_tokens) / len(self._sample)
        return rate * (pace.request_turn + answered * pace.token_turn)

    def capacity(self, slo: Slo, share: float, factor: float = 1.0, expected: float | None = None) -> float | None:
        """Return the highest rate in requests/s at which ``share`` of requests hold the SLO; None if none does.

        ``expected`` is where to look first. Between the last rate that holds and the next that does not, the share
        is taken as linear in the logarithm of the rate.
        """
        start = _FIRST if expected is None else max(round(log(expected / _SLOWEST) / log(_STEP)), 0)
        holds, breaks = self._bracket(slo, share, factor, start)
        if holds < 0:
            return None
        while breaks - holds > 1:
            middle = (holds + breaks) // 2
            if self.on_grid(middle).share(slo, factor) >= share:
                holds = middle
            else:
                breaks = middle
        return self._between(holds, [self.on_grid(step).share(slo, factor) for step in (holds, breaks)], share)

    def _bracket(self, slo: Slo, share: float, factor: float, start: int) -> tuple[int, int]:
        """Return a step that holds (-1: none does) and a later one that breaks, by growing strides from ``start``."""
        step, stride = start, _STRIDE if start == _FIRST else 1
        if self.on_grid(step).share(slo, factor) >= share:
            while step < _LAST and self.on_grid(step + stride).share(slo, factor) >= share:
                step, stride = step + stride, 2 * stride
            return step, step + stride
        while step > 0:
            earlier = max(step - stride, 0)
            if self.on_grid(earlier).share(slo, factor) >= share:
                return earlier, step
            step, stride = earlier, 2 * stride
        return -1, 0

    @staticmethod
    def _between(holds: int, shares: Sequence[float], wanted: float) -> float:
        before, after = shares
        along = (before - wanted) / (before - after) if before > after else 0.0
        return _SLOWEST * exp((holds + along) * log(_STEP))

    def _play(self, rate: float) -> Trial:
        work = at(self._sample, rate)
        played = play_cell(self._deployment, Question(work, None), self._constants)
        judged = slice(int(_FILLING * len(work)), None)
        scheduled = np.array(played.scheduled_s)[judged]
        first, last = np.array(played.first_s)[judged], np.array(played.last_s)[judged]
        gaps = np.array(work.output_tokens[judged], dtype=np.float64) - 1
        tpot = np.divide(last - first, gaps, out=np.full(len(gaps), np.nan), where=gaps > 0)
        times = {"ttft_ms": first - scheduled, "tpot_ms": tpot, "e2e_ms": last - scheduled}
        return Trial(rate, {name: 1e3 * seconds for name, seconds in times.items()})
