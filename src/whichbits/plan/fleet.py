"""A day of one fleet: how many replicas of one or two options each hour, what they cost, how full they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from whichbits.language.phrase import joined
from whichbits.plan.demand import Demand
from whichbits.plan.option import Option
from whichbits.plan.prospect import Prospect
from whichbits.traffic.draws import Integers

_EXACT = 1e-9
"""What a quotient may lie above a whole number by rounding alone."""


@dataclass(frozen=True)
class Room:
    """What a fleet may use: ``used_at_most`` of each replica's capacity, and never fewer than ``at_least`` replicas."""

    used_at_most: float
    at_least: int = 1


@dataclass(frozen=True)
class Hour:
    """One hour: requests/s, replicas of each option, the share of their capacity that is used, and what users see."""

    rate: float
    replicas: tuple[int, ...]
    used: float
    slo_share: float
    tpot_ms_p50: float
    ttft_ms_p99: float


@dataclass(frozen=True)
class FleetDay:
    """A fleet over a day. Latencies and the share of good requests are means over the day's requests.

    ``cost_low`` and ``cost_high`` are the cost of a million output tokens if all replicas bore the upper or the lower
    end of their 95 % interval; None without one, or where the GPUs on offer would not do.
    """

    options: tuple[Option, ...]
    hours: tuple[Hour, ...]
    cost_per_day: float
    cost_per_million_tokens: float
    slo_share: float
    tpot_ms_p50: float
    ttft_ms_p99: float
    cost_low: float | None = None
    cost_high: float | None = None

    @property
    def name(self) -> str:
        """Its options, by name."""
        return joined(" + ", (option.name for option in self.options))

    @property
    def most(self) -> tuple[int, ...]:
        """Replicas of each option in the hour that has most of it."""
        return tuple(max(hour.replicas[at] for hour in self.hours) for at in range(len(self.options)))


def fleet_day(prospects: Sequence[Prospect], demand: Demand, room: Room) -> FleetDay | None:
    """Return the cheapest day with replicas of one or two options that have a capacity; None if GPUs run out.

    Each hour is settled by itself: replicas come and go on the hour. Of combinations that cost the same, the one whose
    users get their tokens fastest is taken, so that a quiet hour may have another format than a busy one.
    """
    hours = []
    for rate in demand.hourly:
        hour = _cheapest_hour(prospects, rate, room)
        if hour is None:
            return None
        hours.append(hour)
    options = tuple(prospect.option for prospect in prospects)
    cost = sum(_price(options, hour.replicas) for hour in hours)
    weights = np.array(demand.hourly) / sum(demand.hourly)
    seen = np.array([(hour.slo_share, hour.tpot_ms_p50, hour.ttft_ms_p99) for hour in hours])
    tokens = demand.requests_per_day * demand.mean_output_tokens
    return FleetDay(options, tuple(hours), cost, 1e6 * cost / tokens, *(weights @ seen).tolist())


def most_gpus(prospect: Prospect, demand: Demand, room: Room) -> int:
    """Return the GPUs that the busiest hour needs of one option."""
    need = max(demand.hourly) / room.used_at_most / (prospect.capacity or 1.0)
    return prospect.option.gpus * max(ceil(need - _EXACT), room.at_least)


def _cheapest_hour(prospects: Sequence[Prospect], rate: float, room: Room) -> Hour | None:
    options = [prospect.option for prospect in prospects]
    counts = _within_offers(options, _enough(prospects, rate / room.used_at_most, room.at_least))
    if not len(counts):
        return None
    costs = counts @ np.array([option.price_per_hour for option in options])
    cheapest = counts[costs <= costs.min() * (1 + _EXACT)]
    hours = [_hour(prospects, rate, tuple(row)) for row in cheapest.tolist()]
    return min(hours, key=lambda hour: hour.tpot_ms_p50)


def _enough(prospects: Sequence[Prospect], need: float, at_least: int) -> Integers:
    """Return the combinations that carry ``need`` requests/s, a row each: any number of the first, then the second."""
    capacities = [prospect.capacity or 0.0 for prospect in prospects]
    if len(capacities) == 1:
        return np.array([[max(ceil(need / capacities[0] - _EXACT), at_least)]])
    first = np.arange(max(ceil(need / capacities[0] - _EXACT), at_least) + 1)
    left = np.ceil((need - first * capacities[0]) / capacities[1] - _EXACT).astype(np.int64)
    return np.column_stack([first, np.maximum(np.maximum(left, at_least - first), 0)])


def _within_offers(options: Sequence[Option], counts: Integers) -> Integers:
    """Return the combinations for which no more GPUs of a kind are needed than there are."""
    for gpu in {option.gpu for option in options}:
        own = np.array([option.gpus if option.gpu == gpu else 0 for option in options])
        at_most = next(option.at_most for option in options if option.gpu == gpu)
        if at_most is not None:
            counts = counts[counts @ own <= at_most]
    return counts


def _hour(prospects: Sequence[Prospect], rate: float, replicas: tuple[int, ...]) -> Hour:
    """Share the load by capacity, so that all replicas are equally full."""
    capacities = np.array([prospect.capacity or 0.0 for prospect in prospects]) * np.array(replicas)
    used = rate / float(capacities.sum())
    seen = np.array([_seen(prospect, used) for prospect in prospects])
    share, tpot, ttft = ((capacities / capacities.sum()) @ seen).tolist()
    return Hour(rate, replicas, used, share, tpot, ttft)


def _seen(prospect: Prospect, used: float) -> tuple[float, float, float]:
    """Return the share of good requests, median TPOT and p99 of TTFT at a share of the capacity."""
    rates = [point.rate for point in prospect.points]
    columns = [(point.slo_share, point.tpot_ms_p50, point.ttft_ms_p99) for point in prospect.points]
    at = used * (prospect.capacity or 0.0)
    share, tpot, ttft = (float(np.interp(at, rates, column)) for column in zip(*columns, strict=True))
    return share, tpot, ttft


def _price(options: Sequence[Option], replicas: Sequence[int]) -> float:
    return sum(option.price_per_hour * count for option, count in zip(options, replicas, strict=True))
