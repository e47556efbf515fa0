"""How well a log-ratio is known: repeats, resampling and the prior each get their due."""

import numpy as np
import pytest

from whichbits.analyze.crossings.bands import SPREAD, SPREAD_DF, LogRatios, bands
from whichbits.analyze.crossings.decision import decide, ratio_intervals
from whichbits.record.timelines import Floats

X = np.log([1.0, 4.0, 16.0, 64.0])


def ratios(values: Floats, variance: float = 0.0) -> LogRatios:
    return LogRatios(X[: len(values)], values, np.full(values.shape, variance))


def test_one_repeat_rests_on_the_assumed_spread_and_the_resampling() -> None:
    known = bands(ratios(np.zeros((4, 1)), variance=0.03**2))

    assert known.standard_error == pytest.approx(np.full(4, np.hypot(SPREAD, 0.03)))
    assert known.df == SPREAD_DF


def test_many_repeats_say_themselves_how_they_spread() -> None:
    values = np.random.default_rng(0).normal(0, 0.08, (4, 400))
    known = bands(ratios(values))

    assert known.deviation == pytest.approx(np.full(4, 0.08), rel=0.05)
    assert known.df == pytest.approx(4 * 399, rel=0.05)
    assert known.shared == pytest.approx(0, abs=0.1)


def test_a_shift_that_all_loads_share_counts_once() -> None:
    shift = np.random.default_rng(1).normal(0, 0.05, (1, 200))
    known = bands(ratios(np.repeat(shift, 4, axis=0)))

    assert known.df == pytest.approx(199 + SPREAD_DF, rel=0.05)
    assert known.shared > 0.95
    middle = (X[0] + X[1]) / 2
    _, at_loads = known.at(X[:1], 0.025)
    _, between = known.at(np.array([middle]), 0.025)
    assert between == pytest.approx(at_loads, rel=0.02)


def test_repeats_missing_at_some_loads_are_no_numbers() -> None:
    values = np.random.default_rng(2).normal(0, 0.02, (4, 3))
    values[1, 2] = np.nan
    known = bands(ratios(values))

    assert known.repeats.tolist() == [3, 2, 3, 3]
    assert known.mean[1] == pytest.approx(values[1, :2].mean())
    assert known.df == SPREAD_DF + 2


def test_a_straight_line_has_no_bend_and_a_kink_widens_what_lies_between_loads() -> None:
    straight, kinked = (bands(ratios(np.array(y)[:, None])) for y in ([0.0, 0.1, 0.2, 0.3], [0.0, 0.0, 0.5, 0.5]))

    assert straight.curvature == 0
    middle = np.array([(X[1] + X[2]) / 2])
    assert kinked.at(middle, 0.025)[1] > 1.2 * straight.at(middle, 0.025)[1]
    assert kinked.at(X[1:2], 0.025)[1] == pytest.approx(straight.at(X[1:2], 0.025)[1], rel=1e-6)


def test_more_repeats_narrow_it_by_their_root() -> None:
    known = bands(ratios(np.array([[0.1, 0.12], [0.0, 0.02], [-0.1, -0.08], [-0.2, -0.18]])))

    assert known.with_repeats(8).standard_error == pytest.approx(known.standard_error / 2)


def test_a_load_whose_repeats_differ_more_than_all_others_is_judged_by_its_own() -> None:
    """By Student's t of 2 + 3 degrees of freedom: (2 x pool + 3 x own) / 5 is its variance."""
    values = np.tile([0.2, 0.21, 0.19, 0.2], (4, 1))
    values[3] = [0.4, -0.1, 0.5, 0.0]
    calm, known = bands(ratios(values[:3])), bands(ratios(values))
    pooled = known.critical(0.025) * known.standard_error
    reach = known.reach(0.025)

    own = values[3].var(ddof=1)
    expected = np.sqrt((2 * known.deviation[3] ** 2 + 3 * own) / 5 / 4) * 2.5706
    assert reach[3] == pytest.approx(expected, rel=1e-4)
    assert reach[3] > 1.5 * pooled[3]
    assert reach[:3] == pytest.approx(pooled[:3])
    assert calm.reach(0.025) == pytest.approx(calm.critical(0.025) * calm.standard_error)


def test_where_repeats_contradict_each_other_nobody_leads_though_all_loads_together_are_calm() -> None:
    values = np.tile(np.log([1.2, 1.21, 1.19]), (6, 1))
    values[5] = np.log([1.45, 1.0, 1.2])
    log_load = np.log([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    decision = decide(bands(LogRatios(log_load, values, np.zeros_like(values))), 0.03)
    low, high = ratio_intervals(bands(LogRatios(log_load, values, np.zeros_like(values))))[5]

    assert decision.decisive.tolist() == [0, 1, 2, 3, 4]
    assert low < 1 < high


def test_one_repeat_a_load_has_no_spread_of_its_own() -> None:
    known = bands(ratios(np.array([[0.1], [0.5], [-0.3], [0.2]])))

    assert known.reach(0.025) == pytest.approx(known.critical(0.025) * known.standard_error)
