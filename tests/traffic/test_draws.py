"""Random numbers: the distributions they should have, by SciPy's word, and values that never change."""

import numpy as np
import pytest
from scipy import stats

from whichbits.traffic.draws import Draws


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.9, 1.0, 1.1, 2.5, 40.0, 1000.0])
def test_gamma_numbers_are_gamma(shape: float) -> None:
    drawn = Draws(3, "gamma", str(shape)).gamma(shape, 20_000)

    assert stats.kstest(drawn, stats.gamma(shape, scale=1 / shape).cdf).pvalue > 0.01
    assert drawn.mean() == pytest.approx(1, abs=5 / np.sqrt(20_000 * shape))


@pytest.mark.parametrize("shape", [0.4, 3.0])
def test_a_longer_cell_begins_like_a_shorter_one(shape: float) -> None:
    assert Draws(1, "a").gamma(shape, 500)[:20].tolist() == Draws(1, "a").gamma(shape, 20).tolist()


def test_gamma_of_shape_one_is_the_exponential_number_for_number() -> None:
    assert Draws(1, "a").gamma(1.0, 50).tolist() == Draws(1, "a").exponential(50).tolist()


def test_normal_numbers_are_normal() -> None:
    assert stats.kstest(Draws(3, "normal").normal(20_000), stats.norm.cdf).pvalue > 0.01


def test_the_draws_never_change() -> None:
    """A change of these breaks the replay of published studies."""
    assert Draws(7, "x").normal(3).tolist() == pytest.approx(
        [1.3307882700160831, -1.3914153226256953, 0.6809312158134794], rel=1e-14
    )
