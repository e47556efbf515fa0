"""How many repeats would settle a comparison is found by halving: the same number as by trying each."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from whichbits.analyze.crossings.bands import LogRatios, bands
from whichbits.analyze.crossings.decision import MOST_REPEATS, repeats_needed, settled


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-0.2, 0.2), min_size=1, max_size=6), st.integers(1, 4), st.floats(0, 0.1), st.integers(0, 1000)
)
def test_the_first_number_that_settles_is_found(means: list[float], repeats: int, noise: float, seed: int) -> None:
    values = np.array(means)[:, None] + np.random.default_rng(seed).normal(0, noise, (len(means), repeats))
    known = bands(LogRatios(np.arange(len(means), dtype=np.float64), values, np.full(values.shape, noise**2)))

    tried = (count for count in range(repeats + 1, MOST_REPEATS + 1) if settled(known.with_repeats(count), 0.03))
    assert repeats_needed(known, 0.03) == next(tried, None)
