"""Resampling draws what it should, and its quick percentiles are the plain ones of what was drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from whichbits.analyze.statistics import resample
from whichbits.analyze.statistics.resample import block_length, draw, means, percentiles, pooled_percentiles, widened
from whichbits.analyze.statistics.student import t_quantile

SIZES = st.integers(2, 60)
SEEDS = st.integers(0, 1000)


@settings(max_examples=60, deadline=None)
@given(SIZES, SEEDS)
def test_neighbours_are_drawn_together_and_everyone_equally_often(size: int, seed: int) -> None:
    weights = draw(size, seed, resamples=400)

    length = block_length(size)
    assert set(weights.sum(axis=1).tolist()) == {length * -(-size // length)}
    assert weights.min() >= 0
    assert weights.mean(axis=0) == pytest.approx(weights.mean(), rel=0.5)
    assert np.array_equal(weights, draw(size, seed, resamples=400))


def test_a_block_covers_its_length_and_wraps_around() -> None:
    drawn = draw(9, seed=1, resamples=50)
    length = block_length(9)

    # With one block in three, counts change only where a block begins or ends.
    steps = np.abs(np.diff(np.concatenate([drawn, drawn[:, :1]], axis=1), axis=1)).sum(axis=1)
    assert length == 3
    assert steps.max() <= 2 * 3


@settings(max_examples=60, deadline=None)
@given(SIZES, SEEDS)
def test_percentiles_are_numpys_of_the_drawn_sample(size: int, seed: int) -> None:
    values = np.random.default_rng(seed).exponential(size=size)
    values[:: max(2, seed % 7)] = np.nan
    weights = draw(size, seed, resamples=5)

    found = percentiles(values, weights, (50, 90, 99))
    average = means(values, weights)

    known = ~np.isnan(values)
    for row, weight in enumerate(weights):
        drawn = np.repeat(values[known], weight[known])
        expected = np.percentile(drawn, (50, 90, 99)) if drawn.size else [np.nan] * 3
        assert found[:, row] == pytest.approx(expected, nan_ok=True)
        assert average[row] == pytest.approx(drawn.mean() if drawn.size else np.nan, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(40, 80), SEEDS)
def test_pooled_percentiles_are_close_to_those_of_all_values_of_the_drawn_requests(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owners = np.sort(rng.integers(0, size, 40 * size))
    values = rng.lognormal(3, 0.3, owners.size)
    weights = draw(size, seed, resamples=5)

    found = pooled_percentiles(values, owners, weights, (50, 99))

    for row, weight in enumerate(weights):
        expected = np.percentile(np.repeat(values, weight[owners]), (50, 99))
        assert found[0, row] == pytest.approx(expected[0], rel=0.01)
        assert found[1, row] == pytest.approx(expected[1], rel=0.1)


def test_pooled_percentiles_of_equal_values_are_that_value() -> None:
    found = pooled_percentiles(np.full(30, 7.0), np.repeat(np.arange(10), 3), draw(10, 0, 4), (50, 99))

    assert found == pytest.approx(np.full((2, 4), 7.0))


def test_the_spread_of_resampled_medians_is_scipys() -> None:
    values = np.random.default_rng(3).lognormal(3, 0.2, 400)
    independent = np.random.default_rng(4).multinomial(400, np.full(400, 1 / 400), size=2000).astype(np.int32)

    ours = percentiles(values, independent, (50,))[0].std()
    theirs = stats.bootstrap((values,), np.median, n_resamples=2000, rng=np.random.default_rng(5)).standard_error

    assert ours == pytest.approx(theirs, rel=0.1)


def test_blocks_see_the_correlation_that_single_draws_miss() -> None:
    rng = np.random.default_rng(0)
    true, single, blocks = [], [], []
    for seed in range(60):
        kicks = rng.normal(size=300)
        wave = np.array([kicks[max(0, at - 6) : at + 1].sum() for at in range(300)])
        true.append(wave.mean())
        blocks.append(means(wave, draw(300, seed)).var())
        blocks.append(widened(means(wave, draw(300, seed)), 300).var())
        single.append(means(wave, rng.multinomial(300, np.full(300, 1 / 300), size=200).astype(np.int32)).var())

    assert np.mean(single) < 0.25 * np.var(true)
    assert 0.6 * np.var(true) < np.mean(blocks) < 1.5 * np.var(true)


@pytest.mark.parametrize("size", [10, 30])
def test_few_blocks_of_independent_requests_show_the_whole_variance(size: int) -> None:
    rng = np.random.default_rng(size)
    seen = [widened(means(rng.normal(size=size), draw(size, seed)), size).var() for seed in range(400)]

    assert np.mean(seen) == pytest.approx(1 / size, rel=0.15)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.001, 0.999), st.floats(2, 500))
def test_quantiles_of_student_are_scipys(probability: float, df: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("size", [60, 90, 700])
def test_products_taken_in_parts_are_those_of_the_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(size)
    owners, values = np.sort(rng.integers(0, size, 30 * size)), rng.lognormal(3, 0.3, 30 * size)
    weights = draw(size, 1)

    def found() -> bytes:
        return pooled_percentiles(values, owners, weights, (50, 99)).tobytes()

    in_parts = found()
    monkeypatch.setattr(resample, "_PRODUCTS_OF_ONE_THREAD", 10**12)
    assert found() == in_parts
