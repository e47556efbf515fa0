"""Fleets worked out by hand, and against trying every combination."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.fleets import demand, option, prospect
from whichbits.plan.fleet import Room, fleet_day, most_gpus
from whichbits.plan.front import front

ALL = Room(1.0)


def test_one_option_by_hand() -> None:
    """10 requests/s at 80 % of 4 each need 4 replicas, 1 request/s one: 12 h of each at 2 an hour is 120 a day."""
    day = fleet_day([prospect(option("a", 2.0), 4.0)], demand(10, 1), Room(0.8))
    assert day is not None
    assert [hour.replicas for hour in day.hours[:2]] == [(4,), (1,)]
    assert day.cost_per_day == pytest.approx(120)
    assert day.cost_per_million_tokens == pytest.approx(120 / (11 * 12 * 3600 * 100) * 1e6)
    assert day.hours[0].used == pytest.approx(10 / 16)
    assert day.most == (4,)


def test_latencies_are_those_at_the_fullness_weighted_by_requests() -> None:
    """Full hours have 40 ms, hours at a quarter 25; there are four times as many requests in the full ones."""
    day = fleet_day([prospect(option("a"), 4.0, 20.0)], demand(4, 1), ALL)
    assert day is not None
    assert day.tpot_ms_p50 == pytest.approx((4 * 40 + 25) / 5)


def test_a_small_gpu_carries_the_night_and_what_is_left_over() -> None:
    """Large: 10 requests/s for 5; small: 2 for 1.5. 11 a second cost 6.5 with one of each, 10 with two large ones."""
    pair = [prospect(option("large", 5.0, "H200"), 10.0), prospect(option("small", 1.5), 2.0)]
    day = fleet_day(pair, demand(11, 1), ALL)
    assert day is not None
    assert [hour.replicas for hour in day.hours[:2]] == [(1, 1), (0, 1)]


def test_of_two_formats_that_cost_the_same_the_faster_one_at_that_load_is_taken() -> None:
    """Four bits are faster in the quiet hour, but a busy one would need a second replica of them."""
    pair = [prospect(option("w4a16"), 4.0, 10.0), prospect(option("w8a8"), 8.0, 15.0)]
    day = fleet_day(pair, demand(7, 1), ALL)
    assert day is not None
    assert [hour.replicas for hour in day.hours[:2]] == [(0, 1), (1, 0)]


def test_gpus_that_are_not_offered_are_not_used() -> None:
    scarce = prospect(option("a", 1.0, at_most=3, gpus=2), 4.0)
    assert fleet_day([scarce], demand(5), ALL) is None
    assert most_gpus(scarce, demand(5), ALL) == 4
    assert fleet_day([scarce, prospect(option("b", 9.0, "H200"), 4.0)], demand(5), ALL) is not None


def test_a_night_without_requests_keeps_the_least_that_is_asked_for() -> None:
    day = fleet_day([prospect(option("a"), 4.0)], demand(3, 0), Room(1.0, at_least=2))
    assert day is not None
    assert [hour.replicas for hour in day.hours[:2]] == [(2,), (2,)]


@settings(max_examples=60, deadline=None)
@given(
    rate=st.floats(0, 30),
    capacities=st.tuples(st.floats(0.7, 9), st.floats(0.7, 9)),
    prices=st.tuples(st.floats(0.5, 5), st.floats(0.5, 5)),
    offered=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    at_least=st.integers(1, 3),
)
def test_no_combination_is_cheaper(
    rate: float,
    capacities: tuple[float, float],
    prices: tuple[float, float],
    offered: tuple[int, int],
    at_least: int,
) -> None:
    gpus = ("L4", "H200")
    pair = [
        prospect(option(gpu, price, gpu, at_most), capacity)
        for gpu, price, at_most, capacity in zip(gpus, prices, offered, capacities, strict=True)
    ]
    day = fleet_day(pair, demand(rate, 0.5), Room(0.9, at_least))
    costs = [
        a * prices[0] + b * prices[1]
        for a, b in product(range(offered[0] + 1), range(offered[1] + 1))
        if a + b >= at_least and 0.9 * (a * capacities[0] + b * capacities[1]) >= rate - 1e-9
    ]
    if day is None:
        assert not costs
    else:
        replicas = day.hours[0].replicas
        assert replicas[0] * prices[0] + replicas[1] * prices[1] == pytest.approx(min(costs))


def test_the_front_keeps_what_nothing_beats() -> None:
    cheap, middle, fast = (
        fleet_day([prospect(option(name, price), 4.0, tpot)], demand(3), ALL)
        for name, price, tpot in (("cheap", 1.0, 30.0), ("middle", 2.0, 31.0), ("fast", 3.0, 10.0))
    )
    assert cheap is not None
    assert middle is not None
    assert fast is not None
    assert front([fast, middle, cheap]) == (cheap, fast)
