"""What one replica of each option can bear, with its interval: tried in parallel, an option or a draw a task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TypeVar

import numpy as np

from whichbits.errors import BadInput
from whichbits.plan.option import Option, Placed, Refused
from whichbits.plan.trial import Trial, Trials
from whichbits.predict.constants import Constants
from whichbits.predict.simulation.workload import Workload
from whichbits.study.model import Slo

FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
"""Tighter and looser SLOs that are looked at beside the one that is asked for."""
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_Z = 1.96
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Goal:
    """What requests must hold: the bounds, and the share of requests that must."""

    slo: Slo
    share: float


@dataclass(frozen=True)
class Point:
    """A replica at one rate in requests/s: the share of good requests, and times in ms."""

    rate: float
    slo_share: float
    ttft_ms_p50: float
    ttft_ms_p99: float
    tpot_ms_p50: float
    tpot_ms_p99: float


@dataclass(frozen=True)
class Prospect:
    """A replica of an option. Capacities in requests/s; None where the SLO is held at no rate.

    ``low`` and ``high`` are the 95 % interval from the draws of the constants, of which ``draws_that_hold`` hold the
    SLO at some rate; without draws both are None. ``bound_by`` is what breaks first beyond the capacity, or alone.
    ``needs_ms`` is what that bound would have to be for requests that hardly meet others. ``front_end_busy`` is the
    share of its time that the process before the engine works at the capacity: near one, it is the limit, whatever
    the bits. ``points`` go up to the largest capacity of any factor on the SLO; ``by_factor`` has these capacities, in
    the order of ``FACTORS``.
    """

    option: Option
    capacity: float | None
    low: float | None
    high: float | None
    draws_that_hold: int
    bound_by: str
    needs_ms: float
    front_end_busy: float | None
    points: tuple[Point, ...]
    by_factor: tuple[float | None, ...]
    bound_by_factor: tuple[str, ...]


@dataclass(frozen=True)
class _Try:
    placed: Placed
    sample: Workload
    goal: Goal
    constants: Constants
    expected: float | None = None


def prospects(
    placed: Sequence[Placed],
    sample: Workload,
    goal: Goal,
    by_gpu: Mapping[str, Sequence[Constants]],
    workers: int,
) -> tuple[list[Prospect], list[Refused]]:
    """Try every option with its GPU's best constants, which come first, and again with each draw of them.

    The answer does not depend on ``workers``, the number of processes.
    """
    tried = _spread(_explore, [_Try(each, sample, goal, by_gpu[each.option.gpu][0]) for each in placed], workers)
    found = [each for each in tried if isinstance(each, Prospect)]
    by_option = {each.option: each for each in placed}
    again = [
        _Try(by_option[each.option], sample, goal, drawn, each.capacity)
        for each in found
        if each.capacity is not None
        for drawn in by_gpu[each.option.gpu][1:]
    ]
    capacities = iter(_spread(_capacity, again, workers))
    draws = max((len(constants) for constants in by_gpu.values()), default=1) - 1
    told = [_with_interval(each, capacities, draws) for each in found]
    return told, [each for each in tried if isinstance(each, Refused)]


def _spread(work: Callable[[_Task], _Result], tasks: Sequence[_Task], workers: int) -> list[_Result]:
    """Return the results in order. Processes are spawned, not forked: a fork of a process with threads may hang."""
    if workers <= 1 or len(tasks) <= 1:
        return [work(task) for task in tasks]
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, tasks))


def _explore(task: _Try) -> Prospect | Refused:
    trials = Trials(task.placed.deployment, task.sample, task.constants)
    goal = task.goal
    try:
        trials.alone  # noqa: B018 - a request that is too long for this option is seen here
    except BadInput as error:
        return Refused(task.placed.option.name, error.code, error.what)
    by_factor = tuple(trials.capacity(goal.slo, goal.share, factor) for factor in FACTORS)
    limits = tuple(_limit(trials, goal, each, factor) for each, factor in zip(by_factor, FACTORS, strict=True))
    asked = FACTORS.index(1.0)
    capacity = by_factor[asked]
    return Prospect(
        option=task.placed.option,
        capacity=capacity,
        low=None,
        high=None,
        draws_that_hold=0,
        bound_by=limits[asked],
        needs_ms=trials.alone.percentile(limits[asked], 100 * goal.share),
        front_end_busy=None if capacity is None else trials.front_end_busy(capacity),
        points=_points(trials, goal, max((each for each in by_factor if each is not None), default=None)),
        by_factor=by_factor,
        bound_by_factor=limits,
    )


def _limit(trials: Trials, goal: Goal, capacity: float | None, factor: float) -> str:
    """Return the bound that breaks beyond a capacity; if there is none, the one that a request breaks alone."""
    trial = trials.alone if capacity is None else trials.near(1.1 * capacity)
    return trial.worst_bound(goal.slo, factor)


def _points(trials: Trials, goal: Goal, highest: float | None) -> tuple[Point, ...]:
    if highest is None:
        return ()
    near = {trial.rate: trial for trial in (trials.near(share * highest) for share in _SHARES)}
    return tuple(_point(trial, goal.slo) for trial in near.values())


def _point(trial: Trial, slo: Slo) -> Point:
    return Point(
        trial.rate,
        trial.share(slo),
        *(trial.percentile(name, percent) for name in ("ttft_ms", "tpot_ms") for percent in (50, 99)),
    )


def _capacity(task: _Try) -> float | None:
    trials = Trials(task.placed.deployment, task.sample, task.constants)
    try:
        return trials.capacity(task.goal.slo, task.goal.share, expected=task.expected)
    except BadInput:  # under this draw the weights leave no cache
        return None


def _with_interval(prospect: Prospect, capacities: Iterator[float | None], draws: int) -> Prospect:
    if prospect.capacity is None or not draws:
        return prospect
    drawn = [next(capacities) for _ in range(draws)]
    logs = np.log([each for each in drawn if each is not None])
    sure = len(logs) == draws and draws > 1
    low = float(np.exp(logs.mean() - _Z * logs.std(ddof=1))) if sure else None
    high = float(np.exp(logs.mean() + _Z * logs.std(ddof=1))) if len(logs) > 1 else None
    return replace(prospect, low=low, high=high, draws_that_hold=len(logs))
