"""The bound on KL divergence against divergences that are known, and agreement against the whole distributions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from tests.analyze.quality.synthetic import log_softmax, top_of
from whichbits.analyze.quality.divergence import agree, kl_lower_bound
from whichbits.record.timelines import Floats


def exact_kl(p: Floats, q: Floats) -> float:
    return float(rel_entr(np.exp(p), np.exp(q)).sum())


def test_a_divergence_worked_out_by_hand() -> None:
    """p = (1/2, 1/4, 1/4), q = (1/4, 1/2, 1/4): KL = 1/2 ln 2 - 1/4 ln 2 = ln(2) / 4."""
    p = {"a": math.log(0.5), "b": math.log(0.25), "c": math.log(0.25)}
    q = {"a": math.log(0.25), "b": math.log(0.5), "c": math.log(0.25)}

    assert kl_lower_bound(p, q) == pytest.approx(math.log(2) / 4, abs=1e-6)


def test_tokens_beyond_the_told_ones_are_one_bucket() -> None:
    """Told: a and b of both; the rest weighs 1/4 and 1/2. KL of (1/2, 1/4, 1/4) to (1/4, 1/4, 1/2) is ln(2) / 4."""
    p = {"a": math.log(0.5), "b": math.log(0.25)}
    q = {"a": math.log(0.25), "b": math.log(0.25)}

    assert kl_lower_bound(p, q) == pytest.approx(math.log(2) / 4)


def test_a_distribution_is_at_no_distance_from_itself() -> None:
    p = log_softmax(np.random.default_rng(1).standard_normal(500))

    assert kl_lower_bound(top_of(p, 3, 20), top_of(p, 3, 20)) == 0.0


@given(st.integers(0, 10_000), st.integers(2, 60), st.floats(0.05, 3.0), st.floats(0.0, 2.0))
def test_the_bound_is_never_above_the_divergence(seed: int, k: int, sharpness: float, noise: float) -> None:
    random = np.random.default_rng(seed)
    logits = random.standard_normal(200) * 2 * sharpness
    p, q = log_softmax(logits), log_softmax(logits + noise * random.standard_normal(200))
    bound = kl_lower_bound(top_of(p, 5, k), top_of(q, 5, k))

    assert bound is not None
    assert 0 <= bound <= exact_kl(p, q) + 1e-9


def test_with_all_tokens_told_the_bound_is_the_divergence() -> None:
    random = np.random.default_rng(2)
    p, q = (log_softmax(random.standard_normal(50)) for _ in range(2))

    assert kl_lower_bound(top_of(p, 1, 50), top_of(q, 1, 50)) == pytest.approx(exact_kl(p, q), abs=1e-6)


def test_twenty_tokens_of_a_peaked_distribution_tell_nearly_all() -> None:
    random = np.random.default_rng(3)
    bounds, exact = [], []
    for _ in range(200):
        logits = random.standard_normal(1000) * 3
        p, q = log_softmax(logits), log_softmax(logits + 0.3 * random.standard_normal(1000))
        bounds.append(kl_lower_bound(top_of(p, 0, 20), top_of(q, 0, 20)) or 0.0)
        exact.append(exact_kl(p, q))

    assert 0.6 < np.mean(bounds) / np.mean(exact) < 1.0


def test_an_own_token_alone_says_nothing() -> None:
    assert kl_lower_bound({"a": -1.0}, {"a": -2.0}) is None
    assert agree({"a": -1.0}, {"a": -2.0, "b": -1.0}) is None


@pytest.mark.parametrize(
    ("arm", "expected"),
    [({"a": -0.1, "b": -3.0}, True), ({"a": -3.0, "b": -0.1}, False), ({"a": -0.7, "b": -0.7}, True)],
)
def test_arms_agree_where_they_share_a_likeliest_token(arm: dict[str, float], expected: bool) -> None:
    assert agree({"a": -0.2, "b": -2.0}, arm) is expected
