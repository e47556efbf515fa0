"""The fleets that options make, alone and in pairs: cheapest, mixed, under another SLO, and why there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from whichbits.language.amounts import amount
from whichbits.plan.demand import Demand
from whichbits.plan.fleet import FleetDay, Room, fleet_day, most_gpus
from whichbits.plan.prospect import FACTORS, Goal, Prospect
from whichbits.plan.trial import bounds_of

_FULLNESS = (1.0, 0.75, 0.5, 0.25)
"""Shares of what headroom leaves that the Pareto front looks at: emptier replicas are dearer and faster."""


@dataclass(frozen=True)
class WhatIf:
    """The cheapest fleet if every bound were ``factor`` times as long; without one, the bound that most options break.

    The fleet's ``slo_share`` is against the SLO that was asked for.
    """

    factor: float
    fleet: FleetDay | None
    bound_by: str | None


class Fleets:
    """Days of the options that hold the SLO, each alone and in pairs."""

    def __init__(self, found: Sequence[Prospect], demand: Demand, room: Room) -> None:
        self._able = [each for each in found if each.capacity is not None]
        self._demand, self._room = demand, room
        self._single = self._days(1, room)
        self._mixed = self._days(2, room)

    def single(self) -> tuple[FleetDay, ...]:
        """Return each option's own day, the cheapest first."""
        return tuple(self._with_interval(day) for day in sorted(self._single, key=_cost_then_speed))

    def mixed(self) -> FleetDay | None:
        """Return the cheapest day with two options, both of them used; None if there is none."""
        used = [day for day in self._mixed if all(day.most)]
        return self._with_interval(min(used, key=_cost_then_speed)) if used else None

    def cheapest(self) -> FleetDay | None:
        """Return the cheapest day of all; of two that cost the same, the one with fewer options comes first."""
        days = [*self._single, *self._mixed]
        return self._with_interval(min(days, key=_cost_then_speed)) if days else None

    def emptier(self) -> list[FleetDay]:
        """Return the days at several degrees of fullness."""
        rooms = [Room(share * self._room.used_at_most, self._room.at_least) for share in _FULLNESS]
        return [day for room in rooms for pooled in (1, 2) for day in self._days(pooled, room)]

    def _with_interval(self, day: FleetDay) -> FleetDay:
        return replace(day, cost_low=self._cost_at(day, "high"), cost_high=self._cost_at(day, "low"))

    def _cost_at(self, day: FleetDay, end: str) -> float | None:
        """Return a day's cost of a million output tokens if replicas bore the ``low`` or ``high`` end."""
        chosen = [each for each in self._able if each.option in day.options]
        ends = [getattr(each, end) for each in chosen]
        if None in ends:
            return None
        moved = [replace(each, capacity=bears) for each, bears in zip(chosen, ends, strict=True)]
        found = fleet_day(moved, self._demand, self._room)
        return None if found is None else found.cost_per_million_tokens

    def _days(self, pooled: int, room: Room) -> list[FleetDay]:
        days = [fleet_day(chosen, self._demand, room) for chosen in combinations(self._able, pooled)]
        return [day for day in days if day is not None]


def what_if(found: Sequence[Prospect], demand: Demand, room: Room, at: int) -> WhatIf:
    """Return the cheapest fleet if the SLO were moved by the factor of that place in ``FACTORS``."""
    moved = [replace(each, capacity=each.by_factor[at]) for each in found]
    fleet = Fleets(moved, demand, room).cheapest()
    limits = [each.bound_by_factor[at] for each in found]
    bound = max(limits, key=limits.count, default=None)
    return WhatIf(FACTORS[at], fleet, bound if fleet is None else None)


def binding(found: Sequence[Prospect], goal: Goal, demand: Demand, room: Room) -> Iterator[str]:
    """Yield, an option a line, what keeps it from being a plan: a bound of the SLO, or the GPUs on offer."""
    for each in found:
        if each.capacity is None:
            bound, name = bounds_of(goal.slo)[each.bound_by], each.bound_by.removesuffix("_ms").upper()
            yield (
                f"{each.option.name}: {goal.share:.4g} of requests have {name} up to {each.needs_ms:.4g} ms with no"
                f" other beside them; {bound:g} ms are asked"
            )
        else:
            needed, at_most = amount(most_gpus(each, demand, room), "GPU"), each.option.at_most
            yield f"{each.option.name}: the busiest hour needs {needed}, of which {at_most} can be had"


def _cost_then_speed(day: FleetDay) -> tuple[float, int, float]:
    return round(day.cost_per_day, 6), len([count for count in day.most if count]), day.tpot_ms_p50
