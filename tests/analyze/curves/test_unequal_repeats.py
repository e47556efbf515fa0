"""Arms that met different repeats are compared as far as others tell what those repeats shift."""

import numpy as np
import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.answer.recommend import recommend
from whichbits.analyze.curves.unequal_repeats import levels


def test_arms_met_in_the_same_repeats_have_their_means() -> None:
    assert levels([{0: 1.0, 1: 3.0}, {0: 2.0, 1: 6.0}]) == pytest.approx([2.0, 4.0])


def test_an_arm_met_only_in_the_slow_repeat_is_not_the_slower_for_it() -> None:
    """Arms a and b differ by 0.1; repeat 1 shifts all by 1. Arm c equals a, and was met in repeat 1 alone."""
    found = levels([{0: 0.0, 1: 1.0}, {0: 0.1, 1: 1.1}, {1: 1.0}])

    assert found == pytest.approx([0.5, 0.6, 0.5])


def test_repeats_that_only_some_arms_have_count() -> None:
    """Least squares by hand: with arms a = 0 + a, repeats -r and r, the extra value of b moves b and r alike."""
    found = levels([{0: 0.0}, {0: 0.2, 1: 0.4}])

    # Exactly determined: repeat 1 is 0.2 above repeat 0, so that over both a is 0.1 and b 0.3.
    assert found == pytest.approx([0.1, 0.3])


def test_arms_without_a_repeat_in_common_are_not_compared() -> None:
    assert levels([{0: 1.0}, {1: 1.0}]) is None
    assert levels([{0: 1.0}, {0: 1.0, 1: 2.0}, {1: 2.0}]) is not None
    assert levels([{}, {}]) is None


def test_noise_of_many_repeats_averages_out() -> None:
    rng = np.random.default_rng(3)
    shift = rng.normal(0, 0.5, 200)
    met = [
        {r: level + shift[r] + rng.normal(0, 0.01) for r in range(200) if r % 3 != arm}
        for arm, level in enumerate((1.0, 1.2, 1.1))
    ]
    found = levels(met)

    assert found is not None
    assert found - found[0] == pytest.approx([0, 0.2, 0.1], abs=0.005)


def test_an_answer_rests_on_all_repeats_not_only_on_those_that_all_arms_have() -> None:
    """Only in repeat 0 all three were met, and b looks best there; in seven others it is the slower by far."""
    cells = [summary("a", 8, 10.0, 0), summary("b", 8, 9.0, 0), summary("c", 8, 14.0, 0)]
    for repeat in range(1, 8):
        cells += [summary("a", 8, 10.0, repeat), summary("b", 8, 12.0, repeat)]
    found = recommend(cells, ["a", "b", "c"], "tpot_ms.p50")

    assert found is not None
    assert found.ranges == (("a", None, None),)
