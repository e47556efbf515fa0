"""Where to measure next, so that a crossing is placed within a budget: first a coarse sweep, then what narrows it most.

Pure functions of what has been met so far: a search that was stopped goes on by being asked again. This is the policy
for one crossing; ``choice`` weighs several open questions against each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from whichbits.analyze.crossings.bands import Bands, LogRatios, bands
from whichbits.analyze.crossings.decision import ALPHA, Zero, decide, doubt, zero
from whichbits.analyze.curves.load_curves import MARGIN

COARSE_STEP = 6.0
"""Loads of the first sweep lie at most this factor apart: few enough to be cheap, close enough to see one turn."""

LEAST = 0.02
"""Where only some loads may be met, and even ten meetings would narrow the interval by less than this share: stop."""

LOOKAHEAD = (1, 3, 10)
"""Meetings with a load that are weighed as one choice: a new load pays only once it is as well known as its sides."""

May = Callable[[int], bool]

Reason = Literal[
    "coarse sweep",
    "narrows the crossing",
    "settles who leads",
    "narrows the SLO's load",
    "placed",
    "settled",
    "placed as loads allow",
    "open as loads allow",
    "budget spent",
]


@dataclass(frozen=True)
class Met:
    """Both arms met one load once: ln(first / second) and what their requests leave open of it."""

    load: int
    log_ratio: float
    variance: float = 0.0


@dataclass(frozen=True)
class Search:
    """What is searched, what has been met, and what is left; ``seconds`` is what both arms take at a load."""

    lowest: int
    highest: int
    met: tuple[Met, ...]
    seconds: Callable[[int], float]
    seconds_left: float
    precision: float = 0.1
    """A crossing is placed if its interval reaches from load / (1 + precision) to load x (1 + precision)."""
    margin: float = MARGIN


@dataclass(frozen=True)
class Economy:
    """What a meeting with a load costs in seconds, and how well a crossing is to be placed."""

    seconds: Callable[[int], float]
    precision: float = 0.1
    margin: float = MARGIN

    @property
    def wanted(self) -> float:
        """Return the widest interval in log load that is narrow enough."""
        return float(2 * np.log1p(self.precision))


@dataclass(frozen=True)
class Step:
    """The load to meet next, None to stop; ``width`` is high / low of the widest crossing as known so far."""

    load: int | None
    reason: Reason
    width: float | None = None
    closes: float = 0.0
    """Share of what is still open that a second of this step is expected to close."""


def next_step(search: Search) -> Step:
    """Return what to measure next, or why to stop."""
    missing = [load for load in coarse_loads(search.lowest, search.highest) if load not in _loads(search.met)]
    if missing:
        return _affordable(search, Step(missing[0], "coarse sweep"))
    economy = Economy(search.seconds, search.precision, search.margin)
    return _affordable(search, after_sweep(bands(log_ratios(search.met)), economy))


def after_sweep(known: Bands, economy: Economy, may: May | None = None) -> Step:
    """Return what narrows one comparison most once the sweep is done; ``may`` says which loads, if not all."""
    decision = decide(known, economy.margin)
    if decision.zeros:
        return _narrowing(economy, known, max(decision.zeros, key=_width), may)
    if decision.verdict == "noisy":
        return _settling(economy, known, may)
    return Step(None, "settled")


def coarse_loads(lowest: int, highest: int) -> tuple[int, ...]:
    """Return the first sweep: ends included, evenly spaced in log load."""
    steps = int(np.ceil(np.log(highest / lowest) / np.log(COARSE_STEP)))
    points = np.geomspace(lowest, highest, max(1, steps) + 1).round().astype(int)
    return tuple(sorted(set(points.tolist())))


def log_ratios(met: Sequence[Met]) -> LogRatios:
    """Return the n-th meeting with each load as its n-th repeat, NaN where there is none; no two share a visit."""
    loads = _loads(met)
    rows = [[each for each in met if each.load == load] for load in loads]
    values, variances = (np.full((len(rows), max(map(len, rows))), np.nan) for _ in range(2))
    for place, row in enumerate(rows):
        values[place, : len(row)] = [each.log_ratio for each in row]
        variances[place, : len(row)] = [each.variance for each in row]
    return LogRatios(np.log(loads), values, variances, apart=True)


def _affordable(search: Search, step: Step) -> Step:
    if step.load is not None and search.seconds(step.load) > search.seconds_left:
        return replace(step, load=None, reason="budget spent")
    return step


def _narrowing(economy: Economy, known: Bands, crossing: Zero, may: May | None) -> Step:
    """Return the load that narrows the crossing's interval most for its time, if all estimates stay as they are."""
    width = _width(crossing)
    if width <= economy.wanted:
        return Step(None, "placed", float(np.exp(width)))
    left, right = _around(known, crossing)
    gains = {
        (load, times): (width - _width(zero(*_with(known, (load, times), left, right)))) / times / economy.seconds(load)
        for load in _candidates(known, crossing, left, right)
        for times in (*LOOKAHEAD, int(known.repeats[left : right + 1].max()))
    }
    gains = {choice: gain for choice, gain in gains.items() if may is None or may(choice[0])}
    best_of_all = max((gain * choice[1] * economy.seconds(choice[0]) for choice, gain in gains.items()), default=0.0)
    if may is not None and best_of_all < LEAST * width:
        return Step(None, "placed as loads allow", float(np.exp(width)))
    best = max(gains, key=lambda choice: gains[choice])
    return Step(best[0], "narrows the crossing", float(np.exp(width)), max(0.0, gains[best]) / width)


def _candidates(known: Bands, crossing: Zero, left: int, right: int) -> set[int]:
    """Return the loads around the crossing that were met, and new ones at and between the ends of its interval."""
    met = np.exp(known.log_load[left : right + 1]).round()
    ends = np.array([crossing.low, crossing.log_load, crossing.high])
    between = np.exp([*ends, *(ends[:-1] + ends[1:]) / 2]).round()
    return {int(load) for load in [*met, *between] if met[0] <= load <= met[-1]}


def _around(known: Bands, crossing: Zero) -> tuple[int, int]:
    """Return the measured loads that enclose the crossing's interval."""
    left = int(np.searchsorted(known.log_load, crossing.low, side="right")) - 1
    right = int(np.searchsorted(known.log_load, crossing.high, side="left"))
    return max(0, left), min(right, known.log_load.size - 1)


def _with(known: Bands, choice: tuple[int, int], left: int, right: int) -> tuple[Bands, int, int]:
    """Return the bands as meeting a load so many times would leave them, and where the enclosing loads then are."""
    load, times = choice
    loads = np.exp(known.log_load).round()
    at = int(np.searchsorted(loads, load))
    if at < loads.size and loads[at] == load:
        return replace(known, repeats=known.repeats + times * (np.arange(loads.size) == at)), left, right
    mean, _ = known.at(np.array([np.log(load)]), ALPHA / 2)
    more = replace(
        known,
        log_load=np.insert(known.log_load, at, np.log(load)),
        mean=np.insert(known.mean, at, mean[0]),
        deviation=np.insert(known.deviation, at, known.deviation[[at - 1, at]].mean()),
        expected=np.insert(known.expected, at, known.expected[[at - 1, at]].mean()),
        own_square=np.insert(known.own_square, at, np.nan),
        repeats=np.insert(known.repeats, at, float(times)),
    )
    return more, left, right + 1


def _settling(economy: Economy, known: Bands, may: May | None) -> Step:
    """Return the cheapest load at which neither arm is shown to lead, nor both to be level; of these the least met.

    Another meeting after n shrinks a standard error by 1 - sqrt(n / (n + 1)).
    """
    reach = known.critical(ALPHA) * known.standard_error
    level = np.abs(known.mean) + reach < np.log1p(economy.margin)
    leads = np.abs(known.mean) > doubt(known)
    open_ = np.flatnonzero(~(level | leads))
    loads = np.exp(known.log_load).round().astype(int)
    met = {int(load): int(times) for load, times in zip(loads, known.repeats, strict=True)}
    chosen = [int(loads[at]) for at in open_] or list(met)
    chosen = [load for load in chosen if may is None or may(load)]
    if not chosen:
        return Step(None, "open as loads allow")
    load = min(chosen, key=lambda load: (met[load], economy.seconds(load)))
    shrinks = 1 - float(np.sqrt(met[load] / (met[load] + 1)))
    return Step(load, "settles who leads", closes=shrinks / economy.seconds(load))


def _loads(met: Sequence[Met]) -> list[int]:
    return sorted({each.load for each in met})


def _width(crossing: Zero) -> float:
    return crossing.high - crossing.low
