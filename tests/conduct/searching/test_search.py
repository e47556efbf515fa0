"""The search sweeps first, then goes where the crossing is, and stops when it is placed or its budget is spent."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichbits.conduct.searching.search import Met, Search, coarse_loads, next_step

Truth = Callable[[int], float]


def start(seconds_left: float = math.inf) -> Search:
    return Search(1, 256, (), lambda _: 10.0, seconds_left)


def crossing_at(load: float, slope: float = 0.2) -> Truth:
    return lambda met: slope * math.log(met / load)


def searched(search: Search, truth: Truth, noise: float = 0.0, most: int = 300) -> tuple[Search, str]:
    """Follow the search's advice to its end."""
    rng = np.random.default_rng(0)
    for _ in range(most):
        step = next_step(search)
        if step.load is None:
            return search, step.reason
        met = Met(step.load, truth(step.load) + float(rng.normal(0, noise)))
        search = replace(search, met=(*search.met, met), seconds_left=search.seconds_left - search.seconds(step.load))
    return search, "never ended"


def loads(search: Search) -> list[int]:
    return [met.load for met in search.met]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(2, 1000))
def test_the_first_sweep_covers_the_range_in_even_steps(lowest: int, times: int) -> None:
    found = coarse_loads(lowest, lowest * times)

    assert (found[0], found[-1]) == (lowest, lowest * times)
    assert list(found) == sorted(set(found))
    assert all(after / before <= 6 * 1.5 for before, after in pairwise(found))


def test_the_sweep_comes_first() -> None:
    search, _ = searched(start(), crossing_at(20))

    assert tuple(loads(search)[:5]) == coarse_loads(1, 256) == (1, 4, 16, 64, 256)


@pytest.mark.parametrize("at", [6.0, 30.0, 100.0])
def test_after_the_sweep_it_stays_around_the_crossing_until_that_is_placed(at: float) -> None:
    search, reason = searched(start(), crossing_at(at), noise=0.015)
    after = loads(search)[5:]

    assert reason == "placed"
    assert len(after) < 60
    assert all(at / 4.5 < load < at * 4.5 for load in after)
    width = next_step(search).width
    assert width is not None
    assert width <= 1.1**2


def test_a_steady_lead_is_settled_by_the_sweep() -> None:
    search, reason = searched(start(), lambda _: -0.3)

    assert (reason, len(search.met)) == ("settled", 5)


def test_arms_that_are_alike_are_repeated_until_that_is_shown() -> None:
    search, reason = searched(start(), lambda _: 0.0, noise=0.005)

    assert reason == "settled"
    assert 5 < len(search.met) <= 20


def test_it_never_spends_more_than_the_budget() -> None:
    search, reason = searched(start(seconds_left=95.0), crossing_at(20), noise=0.05)

    assert (reason, len(search.met)) == ("budget spent", 9)
    assert search.seconds_left >= 0


def test_a_search_that_was_stopped_goes_on_where_it_was() -> None:
    whole, _ = searched(start(), crossing_at(20, slope=0.12), noise=0.03)
    ended = len(whole.met) - 2
    half = replace(whole, met=whole.met[:ended])

    assert ended > 6
    assert next_step(half).load == whole.met[ended].load
    assert next_step(replace(half, met=half.met[::-1])).load == whole.met[ended].load


def test_a_curve_that_bends_between_two_loads_gets_a_load_in_between() -> None:
    search, reason = searched(start(), lambda load: 0.6 * math.tanh(3 * math.log(load / 30)), noise=0.002)

    assert reason == "placed"
    assert any(16 < load < 64 for load in loads(search))


def test_cheap_loads_are_met_more_often_than_dear_ones() -> None:
    dear = replace(start(), seconds=float)
    alike, _ = searched(start(), crossing_at(8, slope=0.15), noise=0.02)
    by_cost, _ = searched(dear, crossing_at(8, slope=0.15), noise=0.02)

    assert np.mean(loads(by_cost)[5:]) < np.mean(loads(alike)[5:])
