"""Kinds of gaps against samples whose truth is known."""

import numpy as np
import pytest

from whichbits.analyze.latency.itl_modes import itl_modes
from whichbits.record.timelines import Floats


def heap(count: int, center_ms: float, sigma: float, seed: int = 0) -> Floats:
    drawn: Floats = center_ms * np.exp(sigma * np.random.default_rng(seed).standard_normal(count))
    return drawn


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 0.98])
@pytest.mark.parametrize(("short_sigma", "long_sigma"), [(0.05, 0.3), (0.2, 0.2), (0.15, 0.02)])
def test_two_heaps_come_back(share: float, short_sigma: float, long_sigma: float) -> None:
    long = round(20_000 * share)
    pooled = np.concatenate([heap(20_000 - long, 20, short_sigma), heap(long, 200, long_sigma, seed=1)])

    found = itl_modes(pooled)

    assert found is not None
    first, second = found.modes
    assert second.share == pytest.approx(share, abs=0.003)
    assert [first.center_ms, second.center_ms] == pytest.approx([20, 200], rel=0.03)
    assert [first.sigma, second.sigma] == pytest.approx([short_sigma, long_sigma], rel=0.15)
    assert found.split_ms is not None
    assert 25 < found.split_ms < 195
    assert found.long_time_share == pytest.approx(pooled[pooled > 80].sum() / pooled.sum(), abs=0.01)


@pytest.mark.parametrize(
    "gaps",
    [
        heap(50_000, 20, 0.05),
        heap(50_000, 20, 0.6),
        20 + np.random.default_rng(0).gamma(2.0, 10.0, 50_000),
        np.random.default_rng(0).uniform(15, 30, 50_000),
        np.random.default_rng(0).normal(20, 2, 50_000),
        np.full(1000, 20.0),
        np.concatenate([heap(500, 20, 0.1), heap(500, 22, 0.1)]),
    ],
    ids=["log-normal", "wide log-normal", "shifted gamma", "uniform", "normal", "constant", "two that overlap"],
)
def test_one_heap_of_any_form_is_one_kind(gaps: Floats) -> None:
    found = itl_modes(gaps)

    assert found is not None
    assert len(found.modes) == 1
    assert found.modes[0].share == 1
    assert found.split_ms is None
    assert found.long_time_share is None
    assert found.modes[0].center_ms == pytest.approx(np.exp(np.log(gaps).mean()), rel=0.005)


def test_the_same_gaps_give_the_same_answer_in_any_order() -> None:
    gaps = np.concatenate([heap(500, 20, 0.1), heap(300, 90, 0.2)])

    assert itl_modes(gaps) == itl_modes(gaps[::-1]) == itl_modes(np.random.default_rng(3).permutation(gaps))


def test_gaps_of_zero_are_chunks_read_together_and_no_kind_of_their_own() -> None:
    found = itl_modes(np.concatenate([np.zeros(1000), heap(1000, 20, 0.1)]))

    assert found is not None
    assert found.n == 1000
    assert len(found.modes) == 1


@pytest.mark.parametrize("gaps", [np.array([]), np.full(19, 20.0), np.zeros(100)], ids=["none", "few", "zeros"])
def test_too_few_gaps_tell_nothing(gaps: Floats) -> None:
    assert itl_modes(gaps) is None
