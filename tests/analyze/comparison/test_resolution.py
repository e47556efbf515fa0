"""How many repeats could show two sides equal at all."""

import math

import pytest

from whichbits.analyze.comparison.resolution import best_reach, coarse


@pytest.mark.parametrize(
    ("repeats", "loads", "reach"),
    [
        (1, 5, math.expm1(2.776 * 0.02)),  # t with 4 degrees of freedom, as printed in tables
        (2, 1, math.expm1(2.571 * 0.02 * math.sqrt(4 / 5 / 2))),
        (2, 2, math.expm1(2.447 * 0.02 * math.sqrt(4 / 6 / 2))),
    ],
)
def test_what_is_left_without_noise_is_the_assumed_spread(repeats: int, loads: int, reach: float) -> None:
    assert best_reach(repeats, loads) == pytest.approx(reach, rel=1e-3)


def test_one_repeat_is_too_coarse_for_three_per_cent_and_two_may_do() -> None:
    found = coarse(1, 2, 0.03)
    assert found is not None
    assert (found.repeats, found.needed) == (1, 2)
    assert found.reach == pytest.approx(0.057, abs=5e-4)
    assert coarse(2, 2, 0.03) is None
    assert coarse(1, 2, 0.06) is None


def test_no_number_of_repeats_reaches_a_margin_of_nothing() -> None:
    found = coarse(1, 1, 0.0)
    assert found is not None
    assert found.needed is None


def test_where_nothing_is_compared_repeats_are_not_to_blame() -> None:
    assert coarse(0, 0, 0.03) is None
