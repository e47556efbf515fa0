"""The whole answer: the cheapest fleet with its interval, what others cost, other SLOs, and what binds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from whichbits.errors import BadInput
from whichbits.plan.demand import SAMPLE, Demand, demand_of
from whichbits.plan.fleet import FleetDay, Room, fleet_day, most_gpus
from whichbits.plan.front import front
from whichbits.plan.option import Refused, options_of
from whichbits.plan.prospect import FACTORS, Goal, Prospect, prospects
from whichbits.plan.trial import bounds_of
from whichbits.predict.constants import Constants
from whichbits.predict.grounds import grounds
from whichbits.study.fleet import FleetPlan
from whichbits.study.model import Study

_FULLNESS = (1.0, 0.75, 0.5, 0.25)
"""Shares of what headroom leaves that the Pareto front looks at: emptier replicas are dearer and faster."""
DRAWS = 10


@dataclass(frozen=True)
class WhatIf:
    """The cheapest fleet if every bound were ``factor`` times as long; without one, the bound that most options break.

    The fleet's ``slo_share`` is against the SLO that was asked for.
    """

    factor: float
    fleet: FleetDay | None
    bound_by: str | None


@dataclass(frozen=True)
class Answer:
    """Fleets are None where no plan meets the SLO; ``binding`` then says why, an option a line.

    ``cost_low`` and ``cost_high`` are the cheapest fleet's cost of a million output tokens if all replicas bore the
    upper or the lower end of their interval; None without one.
    """

    study: str
    goal: Goal
    headroom: float
    demand: Demand
    prospects: tuple[Prospect, ...]
    refused: tuple[Refused, ...]
    cheapest: FleetDay | None
    cost_low: float | None
    cost_high: float | None
    single: tuple[FleetDay, ...]
    mixed: FleetDay | None
    front: tuple[FleetDay, ...]
    what_if: tuple[WhatIf, ...]
    binding: tuple[str, ...]
    rests_on: dict[str, str]


def plan_study(
    study: Study, constants: Constants, draws: int = DRAWS, workers: int = 1, *, sample: int = SAMPLE
) -> Answer:
    """Plan the fleet that a study asks for; each trial of a replica sends ``sample`` requests.

    Raises:
        BadInput: ``nothing_to_plan`` without ``plan`` or ``slo``; a GPU or a trace that cannot be read; no day.
    """
    plan, goal = _asked(study)
    demand = demand_of(study, plan, sample)
    placed, refused = options_of(study, plan, constants)
    drawn = constants.draws(draws, study.seed) if draws else []
    found, too_long = prospects(placed, demand.sample, goal, [constants, *drawn], workers)
    room = Room(1 - plan.headroom, plan.at_least)
    fleets = _Fleets(found, demand, room)
    cheapest = fleets.cheapest()
    return Answer(
        study=study.name,
        goal=goal,
        headroom=plan.headroom,
        demand=demand,
        prospects=tuple(sorted(found, key=_price_of_capacity)),
        refused=(*refused, *too_long),
        cheapest=cheapest,
        cost_low=fleets.cost_at(cheapest, "high"),
        cost_high=fleets.cost_at(cheapest, "low"),
        single=fleets.single(),
        mixed=fleets.mixed(),
        front=front(fleets.emptier()),
        what_if=tuple(_what_if(found, demand, room, at) for at in range(len(FACTORS))),
        binding=() if cheapest else tuple(_binding(found, goal, demand, room)),
        rests_on={each.option.name: grounds(each.deployment, constants) for each in placed},
    )


def _asked(study: Study) -> tuple[FleetPlan, Goal]:
    if study.plan is None or study.slo is None or not bounds_of(study.slo):
        missing = "`plan`" if study.plan is None else "`slo`"
        raise BadInput(
            "nothing_to_plan",
            f"the study {study.name} has no {missing}",
            why="a plan needs GPUs with prices, a day's traffic, and what a good request is",
            fix="add `plan: {gpus: {L4: {price_per_hour: 0.8}}, day: {peak: 20}}` and `slo: {ttft_ms: 500}`",
        )
    return study.plan, Goal(study.slo, study.plan.slo_share)


class _Fleets:
    """Days of the options that hold the SLO, each alone and in pairs."""

    def __init__(self, found: Sequence[Prospect], demand: Demand, room: Room) -> None:
        self._able = [each for each in found if each.capacity is not None]
        self._demand, self._room = demand, room
        self._single = self._days(1, room)
        self._mixed = self._days(2, room)

    def single(self) -> tuple[FleetDay, ...]:
        """Return each option's own day, the cheapest first."""
        return tuple(sorted(self._single, key=_cost_then_speed))

    def mixed(self) -> FleetDay | None:
        """Return the cheapest day with two options, both of them used; None if there is none."""
        used = [day for day in self._mixed if all(day.most)]
        return min(used, key=_cost_then_speed, default=None)

    def cheapest(self) -> FleetDay | None:
        """Return the cheapest day of all; of two that cost the same, the one with fewer options comes first."""
        return min([*self._single, *self._mixed], key=_cost_then_speed, default=None)

    def emptier(self) -> list[FleetDay]:
        """Return the days at several degrees of fullness."""
        rooms = [Room(share * self._room.used_at_most, self._room.at_least) for share in _FULLNESS]
        return [day for room in rooms for pooled in (1, 2) for day in self._days(pooled, room)]

    def cost_at(self, day: FleetDay | None, end: str) -> float | None:
        """Return a day's cost of a million output tokens if replicas bore the ``low`` or ``high`` end."""
        if day is None:
            return None
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


def _what_if(found: Sequence[Prospect], demand: Demand, room: Room, at: int) -> WhatIf:
    moved = [replace(each, capacity=each.by_factor[at]) for each in found]
    fleet = _Fleets(moved, demand, room).cheapest()
    limits = [each.bound_by_factor[at] for each in found]
    bound = max(limits, key=limits.count, default=None)
    return WhatIf(FACTORS[at], fleet, bound if fleet is None else None)


def _binding(found: Sequence[Prospect], goal: Goal, demand: Demand, room: Room) -> Iterator[str]:
    for each in found:
        if each.capacity is None:
            bound, name = bounds_of(goal.slo)[each.bound_by], each.bound_by.removesuffix("_ms").upper()
            yield (
                f"{each.option.name}: {goal.share:.4g} of requests have {name} up to {each.needs_ms:.4g} ms with no"
                f" other beside them; {bound:g} ms are asked"
            )
        else:
            needed = most_gpus(each, demand, room)
            yield f"{each.option.name}: the busiest hour needs {needed} GPUs, {each.option.at_most} are offered"


def _cost_then_speed(day: FleetDay) -> tuple[float, int, float]:
    return round(day.cost_per_day, 6), len([count for count in day.most if count]), day.tpot_ms_p50


def _price_of_capacity(prospect: Prospect) -> float:
    return prospect.option.price_per_hour / prospect.capacity if prospect.capacity else float("inf")
