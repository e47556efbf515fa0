"""Start-ups are cut where they end; trends are told from wavering as often as promised."""

from itertools import permutations

import numpy as np
import pytest

from whichbits.analyze.statistics.stationarity import chance_of_falls, change, rises, start_up


@pytest.mark.parametrize(
    ("values", "cut"),
    [
        ([], 0),
        ([5], 0),
        ([5] * 20, 0),
        ([1, 2, 3, 4, 5] + [6] * 15, 5),
        ([0, 6, 6, 6, 6, 6, 6, 6], 1),
        (list(range(16)), 8),  # it has not settled, and no more than half is cut
    ],
)
def test_a_start_up_is_cut_where_it_ends(values: list[float], cut: int) -> None:
    assert start_up(np.array(values, dtype=float)) == cut


def test_the_chance_of_few_falls_is_counted_over_all_orders() -> None:
    falls = [sum(a > b for n, a in enumerate(order) for b in order[n + 1 :]) for order in permutations(range(5))]

    for most in range(11):
        assert chance_of_falls(5, most) == pytest.approx(sum(each <= most for each in falls) / 120)


def test_its_counts_agree_with_kendall_s_tau_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.array([3, 1, 4, 1.5, 5, 9, 2, 6, 5.3, 5.8])
    falls = sum(a > b for n, a in enumerate(values) for b in values[n + 1 :])

    found = stats.kendalltau(range(10), values, method="exact", alternative="greater")

    assert chance_of_falls(10, falls) == pytest.approx(found.pvalue)


def test_a_series_rises_only_beyond_chance() -> None:
    assert rises(np.arange(5.0))
    assert not rises(np.arange(4.0))
    assert not rises(np.array([1.0, 2, 3, 5, 4]))
    assert not rises(np.ones(20))
    assert not rises(-np.arange(20.0))


def test_noise_is_called_a_trend_once_in_a_hundred() -> None:
    draws = np.random.default_rng(5).normal(size=(4000, 12))

    assert np.mean([rises(values) for values in draws]) == pytest.approx(0.01, abs=0.005)


def test_the_change_is_of_halves_without_the_middle() -> None:
    assert change(np.array([1.0, 1, 50, 2, 2])) == 1
    assert change(np.array([0.0, 1])) is None
    assert change(np.array([1.0])) is None
