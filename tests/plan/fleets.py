"""Options, demands and prospects for tests, made by hand."""

from dataclasses import replace

from whichbits.plan.demand import Demand
from whichbits.plan.option import Option
from whichbits.plan.prospect import FACTORS, Point, Prospect
from whichbits.predict.simulation.workload import Workload


def option(arm: str, price: float = 1.0, gpu: str = "L4", at_most: int | None = None, gpus: int = 1) -> Option:
    return Option(arm, "fp16", gpu, gpus, price, at_most)


def prospect(named: Option, capacity: float | None, tpot_ms: float = 20.0) -> Prospect:
    """A replica that gives its tokens every ``tpot_ms`` when empty, and every two of that at its capacity."""
    top = capacity or 1.0
    points = tuple(Point(top * full, 1.0, 50.0, 100.0, tpot_ms * (1 + full), 3 * tpot_ms) for full in (0.01, 1.0))
    by_factor = tuple(None if capacity is None else capacity * factor for factor in FACTORS)
    limits = ("tpot_ms",) * len(FACTORS)
    return Prospect(named, capacity, None, None, 0, "tpot_ms", 2 * tpot_ms, 0.1, points, by_factor, limits)


def demand(*hourly: float) -> Demand:
    """A day of these rates, repeated until it has 24; every answer has 100 tokens."""
    work = Workload(range(2), [10, 10], [100, 100], [-1, -1], 0, [0.0, 1.0])
    return Demand((hourly * 24)[:24], work)


def with_interval(found: Prospect, low: float, high: float) -> Prospect:
    return replace(found, low=low, high=high, draws_that_hold=10)
