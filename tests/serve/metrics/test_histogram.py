"""Quantiles of buckets agree with the samples that filled them, within the error that they state."""

import math
from bisect import bisect_left
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client import Histogram as Reference

from whichbits.serve.metrics import read_exposition
from whichbits.serve.metrics.histogram import Histogram, Quantile, added, growth, read_histogram

BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
SAMPLES = st.lists(st.floats(0, 2, allow_nan=False), min_size=1, max_size=60)
SHARES = st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0])


def filled(samples: list[float], bounds: tuple[float, ...] = BOUNDS) -> Histogram:
    counts = [0] * (len(bounds) + 1)
    for sample in samples:
        counts[bisect_left(bounds, sample)] += 1
    return Histogram((*bounds, math.inf), tuple(accumulate(counts)), math.fsum(samples))


def found(histogram: Histogram, share: float) -> Quantile:
    quantile = histogram.quantile(share)
    assert quantile is not None
    return quantile


@given(samples=SAMPLES, share=SHARES)
def test_the_true_quantile_lies_within_the_stated_bucket(samples: list[float], share: float) -> None:
    # The order statistic of rank ceil(share x n); other definitions interpolate and may fall between two buckets.
    true = float(np.quantile(samples, share, method="inverted_cdf"))
    quantile = found(filled(samples), share)

    assert quantile.low <= true
    assert quantile.high is None or true <= quantile.high
    assert quantile.value is None or quantile.low <= quantile.value <= (quantile.high or 0)
    assert (quantile.value is None) == (true > BOUNDS[-1])


@given(samples=SAMPLES, share=SHARES)
def test_the_sum_never_widens_a_bound_and_always_closes_the_last_bucket(samples: list[float], share: float) -> None:
    with_sum, without = filled(samples), replace(filled(samples), sum=None)
    close, wide = found(with_sum, share), found(without, share)

    assert close.low == wide.low
    assert close.high is not None
    assert wide.high is None or close.high <= wide.high


def test_a_median_is_no_more_than_the_sum_allows() -> None:
    # Eight samples below 0.3 that take 0.16 together: the four from the median up take no more than all of it does,
    # and five of rank 4 to 8 share it.
    histogram = Histogram((0.3, math.inf), (8, 8), 0.16)

    median, top = found(histogram, 0.5), found(Histogram((0.3, math.inf), (6, 8), 2.0), 1.0)

    assert median.high == pytest.approx(0.16 / 5)
    assert median.value == pytest.approx(0.16 / 5 / 2)
    # Two samples above 0.3, six of at least 0: the largest is at most 2.0 less the other's 0.3.
    assert (top.value, top.low) == (None, 0.3)
    assert top.high == pytest.approx(1.7)


@given(samples=SAMPLES)
def test_the_mean_is_exact_whatever_the_buckets(samples: list[float]) -> None:
    assert filled(samples).mean == pytest.approx(np.mean(samples))


@given(samples=SAMPLES, one=SHARES, other=SHARES)
def test_quantiles_ascend(samples: list[float], one: float, other: float) -> None:
    low, high = (found(filled(samples), share) for share in sorted((one, other)))

    assert low.low <= high.low
    if low.value is not None and high.value is not None:
        assert low.value <= high.value


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        # 10 samples up to 0.25, 30 up to 0.75, 40 in all. Rank 20 is halfway through the second bucket.
        (0.5, Quantile(0.5, 0.25, 0.75)),
        (0.25, Quantile(0.25, 0.0, 0.25)),
        (0.125, Quantile(0.125, 0.0, 0.25)),
        (0.75, Quantile(0.75, 0.25, 0.75)),
        (0.99, Quantile(None, 0.75, None)),
    ],
)
def test_quantiles_interpolate_as_promql_does_and_end_at_the_last_bound(share: float, expected: Quantile) -> None:
    assert Histogram((0.25, 0.75, math.inf), (10, 30, 40), None).quantile(share) == expected


def test_without_samples_nothing_is_known() -> None:
    empty = Histogram((0.1, math.inf), (0, 0), 0.0)

    assert empty.quantile(0.5) is None
    assert empty.mean is None


@given(first=SAMPLES, second=SAMPLES)
def test_two_scrapes_give_what_was_observed_in_between(first: list[float], second: list[float]) -> None:
    grown = growth(filled(first), filled(first + second))

    assert grown is not None
    assert grown.cumulative == filled(second).cumulative
    assert grown.sum == pytest.approx(math.fsum(second), abs=1e-9)


def test_a_restart_and_other_buckets_have_no_growth() -> None:
    assert growth(filled([0.02, 0.02]), filled([0.02])) is None
    assert growth(filled([0.02], (0.1,)), filled([0.02])) is None


def test_engines_with_the_same_buckets_add_up() -> None:
    assert added([filled([0.02]), filled([0.3])]) == filled([0.02, 0.3])
    assert added([filled([0.02]), filled([0.3], (0.1,))]) is None
    assert added([]) is None


@given(samples=SAMPLES)
def test_what_prometheus_client_exposes_is_read_back(samples: list[float]) -> None:
    registry = CollectorRegistry()
    name = "vllm:request_queue_time_seconds"
    reference = Reference(name, "Queue.", ["engine"], registry=registry, buckets=BOUNDS)
    for place, sample in enumerate(samples):
        reference.labels(str(place % 2)).observe(sample)
    exposition = read_exposition(generate_latest(registry).decode())
    assert exposition is not None

    read = read_histogram(exposition, "queue")

    assert read is not None
    assert (read.bounds, read.cumulative) == (filled(samples).bounds, filled(samples).cumulative)
    assert read.mean == pytest.approx(np.mean(samples))


@pytest.mark.parametrize(
    ("name", "timed"),
    [
        ("vllm:inter_token_latency_seconds", "itl"),
        ("vllm:time_per_output_token_seconds", "itl"),
        ("vllm:request_time_per_output_token_seconds", "tpot"),
        ("sglang_queue_time_seconds", "queue"),
        ("tgi_request_queue_duration", "queue"),
        ("lmdeploy:request_decode_time_seconds", "decode"),
        ("embedded:time_to_first_token_seconds", "ttft"),
    ],
)
def test_histograms_by_the_names_of_engines(name: str, timed: str) -> None:
    exposition = read_exposition(f'{name}_bucket{{le="0.5"}} 3\n{name}_bucket{{le="+Inf"}} 4\n{name}_sum 2\n')
    assert exposition is not None

    assert read_histogram(exposition, timed) == Histogram((0.5, math.inf), (3, 4), 2.0)  # type: ignore[arg-type]


def test_without_buckets_the_mean_is_known_and_quantiles_are_bounded_by_the_sum() -> None:
    exposition = read_exposition("vllm:request_queue_time_seconds_sum 3\nvllm:request_queue_time_seconds_count 4\n")
    assert exposition is not None

    histogram = read_histogram(exposition, "queue")

    assert histogram is not None
    assert histogram.mean == 0.75
    # The second of four takes no more than a third of the sum.
    assert found(histogram, 0.5) == Quantile(None, 0.0, pytest.approx(1.0))  # type: ignore[arg-type]


def test_a_histogram_without_its_last_bucket_is_none() -> None:
    registry = CollectorRegistry()
    Gauge("vllm:num_requests_running", "Running.", registry=registry).set(1)
    torn = read_exposition(generate_latest(registry).decode() + 'vllm:request_queue_time_seconds_bucket{le="0.5"} 3\n')
    assert torn is not None

    assert read_histogram(torn, "queue") is None
