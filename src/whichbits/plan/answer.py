"""The whole answer: the cheapest fleet with its interval, what others cost, other SLOs, and what binds."""

from dataclasses import dataclass

from whichbits.errors import BadInput
from whichbits.plan.demand import SAMPLE, Demand, demand_of
from whichbits.plan.fleet import FleetDay, Room
from whichbits.plan.fleets import Fleets, WhatIf, binding, what_if
from whichbits.plan.front import front
from whichbits.plan.option import Refused, options_of
from whichbits.plan.prospect import FACTORS, Goal, Prospect, prospects
from whichbits.plan.trial import bounds_of
from whichbits.predict.constants import Constants
from whichbits.predict.deployment.grounds import grounds
from whichbits.predict.shipped import Known
from whichbits.study.fleet import FleetPlan
from whichbits.study.model import Study

DRAWS = 10


@dataclass(frozen=True)
class Answer:
    """Fleets are None where no plan meets the SLO; ``binding`` then says why, an option a line.

    ``cost_low`` and ``cost_high`` are the cheapest fleet's, as its own are.
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


def plan_study(study: Study, known: Known, draws: int = DRAWS, workers: int = 1, *, sample: int = SAMPLE) -> Answer:
    """Plan the fleet that a study asks for; each trial of a replica sends ``sample`` requests.

    Raises:
        BadInput: ``nothing_to_plan`` without ``plan`` or ``slo``; a GPU or a trace that cannot be read; no day.
    """
    plan, goal = _asked(study)
    demand = demand_of(study, plan, sample)
    placed, refused = options_of(study, plan, known)
    by_gpu = {gpu: _drawn(known.of(gpu), draws, study.seed) for gpu in {each.option.gpu for each in placed}}
    found, too_long = prospects(placed, demand.sample, goal, by_gpu, workers)
    room = Room(1 - plan.headroom, plan.at_least)
    fleets = Fleets(found, demand, room)
    cheapest = fleets.cheapest()
    return Answer(
        study=study.name,
        goal=goal,
        headroom=plan.headroom,
        demand=demand,
        prospects=tuple(sorted(found, key=_price_of_capacity)),
        refused=(*refused, *too_long),
        cheapest=cheapest,
        cost_low=None if cheapest is None else cheapest.cost_low,
        cost_high=None if cheapest is None else cheapest.cost_high,
        single=fleets.single(),
        mixed=fleets.mixed(),
        front=front(fleets.emptier()),
        what_if=tuple(what_if(found, demand, room, at) for at in range(len(FACTORS))),
        binding=() if cheapest else tuple(binding(found, goal, demand, room)),
        rests_on={each.option.name: grounds(each.deployment, known.of(each.option.gpu)) for each in placed},
    )


def _drawn(constants: Constants, draws: int, seed: int) -> list[Constants]:
    """Return the best constants and their draws. With one seed all GPUs' draws move alike, which cancels in ratios."""
    return [constants, *(constants.draws(draws, seed) if draws else [])]


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


def _price_of_capacity(prospect: Prospect) -> float:
    return prospect.option.price_per_hour / prospect.capacity if prospect.capacity else float("inf")
