"""Intervals against scipy's, against hand-made counts, and against simulated truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whichbits.analyze.quality.intervals import (
    mcnemar_p,
    median_interval,
    paired_difference,
    ratio_interval,
    share_interval,
)
from whichbits.analyze.quality.measures import Valued


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_exact_binomial_test(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0

    assert mcnemar_p(gained, lost) == pytest.approx(expected)


@given(st.integers(1, 300), st.data())
def test_shares_have_wilsons_interval(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    found = share_interval(hits, n)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_paired_difference_is_centred_near_its_value() -> None:
    """Of 100 questions 10 are lost and 2 gained: -8 points; Agresti and Min by hand: -8 / 102 -+ 0.0676."""
    found = paired_difference(2, 10, 100)

    assert found.value == pytest.approx(-0.08)
    assert (found.low, found.high) == pytest.approx((-0.1460, -0.0108), abs=1e-4)


def test_a_median_has_order_statistics_around_it() -> None:
    """Of 10 values the second and ninth enclose the median with 97.9 %."""
    assert median_interval(range(1, 11)) == Valued(5.5, 2.0, 9.0)
    assert median_interval([3.0, 1.0, 2.0]) == Valued(2.0, None, None)


def test_texts_that_are_all_alike_leave_no_doubt() -> None:
    assert ratio_interval([2.0, 4.0, 6.0], [1, 2, 3], ["a"] * 3) == Valued(2.0, 2.0, 2.0)


def test_one_text_has_no_interval() -> None:
    assert ratio_interval([2.0], [4], ["a"]) == Valued(0.5, None, None)
    assert ratio_interval([2.0, 6.0], [4, 4], ["a", "b"]) == Valued(1.0, None, None)


def test_differences_between_domains_are_no_doubt_about_the_whole() -> None:
    """Domains of 1 and 9 exactly: with texts drawn within them the mean is 5 in every draw."""
    found = ratio_interval([1.0] * 4 + [9.0] * 4, [1] * 8, ["low"] * 4 + ["high"] * 4)

    assert found == Valued(5.0, 5.0, 5.0)


def test_the_interval_holds_for_tokens_that_hang_together() -> None:
    """Tokens of a text share its level: an interval that took them as independent would cover a quarter of the time."""
    covered, naive = 0, 0
    random = np.random.default_rng(5)
    for _ in range(120):
        levels = 0.3 + 0.1 * random.standard_normal(12)
        tokens = levels[:, None] + 0.2 * random.standard_normal((12, 150))
        found = ratio_interval(tokens.sum(axis=1).tolist(), [150] * 12, ["one"] * 12)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.3 <= found.high
        half = 1.96 * tokens.std() / np.sqrt(tokens.size)
        naive += abs(tokens.mean() - 0.3) <= half

    assert covered >= 108  # 95 % of 120 is 114
    assert naive < 70
