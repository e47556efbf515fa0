"""Fleets of hand-made replicas whose cheapest day, mix, other SLOs and binding limits can be worked out."""

from dataclasses import replace

import pytest

from tests.plan.fleets import demand, option, prospect, with_interval
from whichbits.plan.fleet import FleetDay, Room
from whichbits.plan.fleets import Fleets, binding, what_if
from whichbits.plan.front import front
from whichbits.plan.prospect import FACTORS, Goal
from whichbits.study.model import Slo

ALL = Room(1.0)


def hours(day: FleetDay) -> list[tuple[int, ...]]:
    return [hour.replicas for hour in day.hours[:2]]


def test_a_pool_of_four_bits_at_night_and_of_eight_by_day() -> None:
    """An L4 at 1 bears 3/s in 4 bits, an H200 at 5 bears 20/s in 8. Night 3/s, day 20/s: 1 and 5 an hour, 72 a day.

    L4s alone need 7 by day, (7 + 1) x 12 = 96; H200s alone are 5 all day, 120.
    """
    low, high = prospect(option("w4a16", 1.0), 3.0), prospect(option("w8a8", 5.0, "H200"), 20.0)
    found = Fleets([low, high], demand(3, 20), ALL)
    mixed = found.mixed()
    assert mixed is not None
    assert hours(mixed) == [(1, 0), (0, 1)]
    assert mixed.cost_per_day == pytest.approx(72)
    assert [day.cost_per_day for day in found.single()] == pytest.approx([96, 120])
    cheapest = found.cheapest()
    assert cheapest is not None
    assert cheapest == mixed


def test_where_one_option_does_as_well_alone_it_is_not_mixed() -> None:
    low, high = prospect(option("w4a16", 1.0), 3.0), prospect(option("w8a8", 5.0, "H200"), 3.0)
    cheapest = Fleets([low, high], demand(3, 3), ALL).cheapest()
    assert cheapest is not None
    assert cheapest.options == (low.option,)


def test_an_interval_of_cost_follows_from_that_of_capacity() -> None:
    """12/s at 4 each are 3 replicas; at 3 to 6 each they are 4 to 2. With 4 on offer all of them can be, with 3 not."""
    bears = with_interval(prospect(option("a", at_most=4), 4.0), 3.0, 6.0)
    (day,) = Fleets([bears], demand(12), ALL).single()
    each = day.cost_per_million_tokens / 3
    assert day.cost_low == pytest.approx(2 * each)
    assert day.cost_high == pytest.approx(4 * each)
    (scarce,) = Fleets([replace(bears, option=option("a", at_most=3))], demand(12), ALL).single()
    assert scarce.cost_low == pytest.approx(2 * each)
    assert scarce.cost_high is None


def test_a_bound_twice_as_long_costs_half() -> None:
    """8/s of a replica that bears 2: 4 replicas; hand-made ones bear as many times more as the bounds are longer."""
    bears = prospect(option("a"), 2.0)
    costs = {}
    for at, factor in enumerate(FACTORS):
        fleet = what_if([bears], demand(8), ALL, at).fleet
        assert fleet is not None
        costs[factor] = fleet.cost_per_day / 24
    assert costs == pytest.approx({0.5: 8, 0.75: 6, 1.0: 4, 1.5: 3, 2.0: 2})


def test_a_bound_that_nothing_holds_is_named_for_its_factor_only() -> None:
    bears = prospect(option("a"), 2.0)
    hopeless = replace(bears, by_factor=(None, *bears.by_factor[1:]))
    assert what_if([hopeless], demand(8), ALL, 0).bound_by == "tpot_ms"
    assert what_if([hopeless], demand(8), ALL, 0).fleet is None
    assert what_if([hopeless], demand(8), ALL, 1).bound_by is None


def test_no_plan_says_what_binds_each_option() -> None:
    """One breaks its bound alone, at 40 ms of 30; of the other the peak needs 5 GPUs and 4 are on offer."""
    slow = prospect(option("slow"), None)
    scarce = prospect(option("scarce", gpu="H200", at_most=4), 2.0)
    goal = Goal(Slo(tpot_ms=30), 0.99)
    assert Fleets([slow, scarce], demand(10), ALL).cheapest() is None
    assert list(binding([slow, scarce], goal, demand(10), ALL)) == [
        "slow on L4: 0.99 of requests have TPOT up to 40 ms with no other beside them; 30 ms are asked",
        "scarce on H200: the busiest hour needs 5 GPUs, of which 4 can be had",
    ]


def test_the_front_of_emptier_replicas_is_dearer_and_faster() -> None:
    """One option, 2/s each, 4/s: 2 full, 3 at most at 3/4, 4 at half, 8 at a quarter. TPOT is 20 (1 + how full)."""
    days = front(Fleets([prospect(option("a"), 2.0)], demand(4), ALL).emptier())
    assert [day.most for day in days] == [(2,), (3,), (4,), (8,)]
    assert [day.cost_per_day / 24 for day in days] == pytest.approx([2, 3, 4, 8])
    assert [day.tpot_ms_p50 for day in days] == pytest.approx([40, 100 / 3, 30, 25])
