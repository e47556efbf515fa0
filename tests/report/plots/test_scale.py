"""Axes: ticks are round and within, places keep the order, labels keep their distance."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.report.plots.scale import Scale, across, apart, around

POSITIVE = st.floats(1e-3, 1e6)


@given(st.lists(POSITIVE, min_size=1, max_size=9), st.booleans())
def test_every_value_has_its_place_within_the_axis_in_order(values: list[float], log: bool) -> None:
    scale = around(values, 300, 20, log=log)

    places = [scale.place(value) for value in sorted(values)]
    assert all(20 - 1e-6 <= place <= 300 + 1e-6 for place in places)
    assert places == sorted(places, reverse=True)


@given(POSITIVE, POSITIVE, st.booleans())
def test_ticks_lie_within_the_axis_and_are_few(low: float, high: float, log: bool) -> None:
    scale = around([low, high], 0, 100, log=log)
    ticks = scale.ticks()

    assert all(scale.low * 0.99 <= tick <= scale.high * 1.01 for tick in ticks)
    assert len(ticks) <= 6
    assert all(after > before for before, after in itertools.pairwise(ticks))


def test_a_load_axis_is_logarithmic_and_a_single_load_lies_in_its_middle() -> None:
    assert across([1, 4, 16], 0, 100).place(4) == pytest.approx(50)
    assert across([8], 0, 100).place(8) == pytest.approx(50)


def test_ticks_of_a_linear_axis_step_by_one_two_or_five() -> None:
    assert Scale(0, 16.4, 0, 1).ticks() == (0, 5, 10, 15)
    assert Scale(2, 2000, 0, 1, log=True).ticks() == pytest.approx((10, 100, 1000))


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12))
def test_labels_that_are_kept_are_apart_and_the_last_is_among_them(places: list[float]) -> None:
    ascending = sorted(places)
    kept = apart(ascending, 30)

    assert kept[-1] == len(places) - 1
    assert all(ascending[after] - ascending[before] >= 30 for before, after in itertools.pairwise(kept))
