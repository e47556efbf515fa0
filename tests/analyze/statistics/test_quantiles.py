"""Quantiles of a sorted sample are numpy's to the last bit, so that a run reported again says the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whichbits.analyze.statistics.quantiles import median, quantiles

SAMPLES = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=200).map(lambda values: np.sort(np.array(values)))
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(SAMPLES, SHARES)
def test_they_are_numpys_to_the_last_bit(ordered: np.ndarray, shares: np.ndarray) -> None:
    assert quantiles(ordered, shares).tolist() == np.quantile(ordered, shares).tolist()
    assert median(ordered) == float(np.median(ordered))


@given(SAMPLES)
def test_percents_are_numpys_too(ordered: np.ndarray) -> None:
    assert quantiles(ordered, np.array([50, 90, 99]) / 100).tolist() == np.percentile(ordered, (50, 90, 99)).tolist()
