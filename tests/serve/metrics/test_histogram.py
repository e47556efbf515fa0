"""Quantiles of buckets agree with the samples that filled them, within the error that they state."""

import math
from bisect import bisect_left
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


def test_a_histogram_without_its_last_bucket_is_none() -> None:
    registry = CollectorRegistry()
    Gauge("vllm:num_requests_running", "Running.", registry=registry).set(1)
    torn = read_exposition(generate_latest(registry).decode() + 'vllm:request_queue_time_seconds_bucket{le="0.5"} 3\n')
    assert torn is not None

    assert read_histogram(torn, "queue") is None
