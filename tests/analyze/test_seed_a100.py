"""A field report's derived figures from its raw inputs: Qwen3-14B in BF16 and AWQ on two A100, cold prefix cache.

Where the report's own figure differs from what its inputs give, the test says so and asserts the right one.
"""

import heapq
import random
from dataclasses import replace

import numpy as np
import pytest

from tests.analyze.make_cell import flight, timelines
from tests.checkpoint.configs import QWEN3_14B
from tests.record.make_run import record
from whichbits.analyze.latency.itl_modes import itl_modes
from whichbits.analyze.limits.capacity import Capacity, Demand, Pool, capacity
from whichbits.analyze.load.concurrency import bucketed_peak, peak_concurrency
from whichbits.checkpoint.read import from_config
from whichbits.record.schema import RequestRecord
from whichbits.record.timelines import Floats

PREFIX, SUFFIX, ANSWER, PREFIXES, REQUESTS, CAP = 3072, 64, 32, 160, 480, 32
KV_TOKENS = {"bf16": 283_408, "awq": 402_400}
Cell = dict[str, float]
BF16: Cell = {"tokens_per_s": 17_782, "ttft_p50": 621.9, "ttft_p99": 3481, "itl_mean": 154.86}
AWQ: Cell = {"tokens_per_s": 16_637, "ttft_p50": 796.2, "ttft_p99": 5914, "itl_mean": 159.14}
BY_POD = {"bf16": ((243, 31.7), (237, 28.9)), "awq": ((238, 38.4), (242, 40.1))}


def pool(arm: str) -> Capacity:
    demand = Demand(PREFIX + SUFFIX, ANSWER, concurrency=CAP / 2, distinct_prefixes=PREFIXES, prefix_tokens=PREFIX)
    return capacity(Pool(tokens=KV_TOKENS[arm], max_model_len=8192), demand)


@pytest.mark.parametrize(("arm", "reported", "right"), [("bf16", 89.4, 89.46), ("awq", 127.0, 127.02)])
def test_requests_that_fit(arm: str, reported: float, right: float) -> None:
    """The report cuts 89.46 to 89.4."""
    found = pool(arm)

    assert found.tokens_per_request == 3168
    assert found.requests_that_fit is not None
    assert found.requests_that_fit == pytest.approx(right, abs=0.005)
    assert int(10 * found.requests_that_fit) / 10 == reported
    assert found.binds == "load"


@pytest.mark.parametrize(("arm", "share"), [("bf16", 1.73), ("awq", 1.22)])
def test_room_for_all_requests_is_no_room_for_all_prefixes(arm: str, share: float) -> None:
    """What the report overlooks: 160 x 3,072 = 491,520 tokens of prefixes meet each replica, more than either holds."""
    found = pool(arm)

    assert found.prefix_working_set_tokens == 491_520
    assert found.prefix_working_set_share == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(
    ("metric", "percent"), [("tokens_per_s", -6.4), ("ttft_p50", 28.0), ("ttft_p99", 69.9), ("itl_mean", 2.8)]
)
def test_awq_against_bf16(metric: str, percent: float) -> None:
    """Mean TPOT is mean ITL here, as all answers have 32 tokens. Rounded to 154.9 and 159.1 it would give 2.7 %."""
    assert round(100 * (AWQ[metric] / BF16[metric] - 1), 1) == percent


@pytest.mark.parametrize(("arm", "reported"), [("bf16", 30.4), ("awq", 39.2)])
def test_hit_rate_of_both_pods_together(arm: str, reported: float) -> None:
    """By its pods' rates, of which only one decimal is given, the sum can be anything within 0.05 points.

    Their middle, 30.3 and 39.3 %, rounds to neither of the report's figures; its own counters are within reach.
    """
    pods = BY_POD[arm]
    middle = sum(requests * rate for requests, rate in pods) / sum(requests for requests, _ in pods)

    assert middle - 0.05 < reported + 0.05
    assert reported - 0.05 < middle + 0.05
    assert sum(requests for requests, _ in pods) == REQUESTS


def test_totals() -> None:
    assert REQUESTS * (PREFIX + SUFFIX) == 1_505_280
    assert REQUESTS * ANSWER == 15_360
    assert 1_505_280 / 15_360 == 98


def test_the_kv_cache_takes_what_the_weights_leave() -> None:
    """118,992 tokens x 163,840 bytes = 18.2 GiB; AWQ at about 4.2 bits a linear weight saves 18.2 GiB of 27.5."""
    per_token = from_config(QWEN3_14B).kv_bytes_per_token()
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    saved = from_config(QWEN3_14B).total_bytes - from_config(QWEN3_14B | {"quantization_config": awq}).total_bytes

    assert per_token == 163_840
    assert (KV_TOKENS["awq"] - KV_TOKENS["bf16"]) * per_token == pytest.approx(saved, rel=0.01)


def capped_workload(seconds: float, seed: int = 7) -> list[RequestRecord]:
    """480 requests at 10/s behind a cap of 32 in flight, each taking about ``seconds``."""
    rng = random.Random(seed)
    due, free, sent = 0.0, [0.0] * CAP, []
    for index in range(REQUESTS):
        due += rng.expovariate(10)
        start = max(due, heapq.heappop(free))
        end = start + seconds * rng.uniform(0.8, 1.2)
        heapq.heappush(free, end)
        stamped = replace(record(index), scheduled_ns=int(due * 1e9), sent_ns=int(start * 1e9))
        sent.append(replace(stamped, finished_ns=int(end * 1e9)))
    return sent


def test_one_second_buckets_show_more_than_the_cap() -> None:
    """The report's 42 and 47 with a cap of 32: requests that follow each other within a second count together."""
    flown = timelines(capped_workload(seconds=5.5))

    assert peak_concurrency(flown) == CAP
    assert bucketed_peak(flown) in range(38, 52)


def test_the_shorter_the_requests_the_more_the_buckets_overstate() -> None:
    slow, fast = (timelines(capped_workload(seconds)) for seconds in (12.0, 3.3))

    assert peak_concurrency(slow) == peak_concurrency(fast) == CAP
    slow_peak, fast_peak = bucketed_peak(slow), bucketed_peak(fast)
    assert slow_peak is not None
    assert fast_peak is not None
    assert CAP < slow_peak < fast_peak


def test_three_requests_in_a_row_fill_one_bucket_together() -> None:
    """In flight 0.1-0.3, 0.4-0.6 and 0.7-1.1 s: never more than one, all three within the first second after 0.1."""
    row = [flight(100_000_000, 300_000_000), flight(400_000_000, 600_000_000), flight(700_000_000, 1_100_000_000)]

    assert peak_concurrency(timelines(row)) == 1
    assert bucketed_peak(timelines(row)) == 3
    assert bucketed_peak(timelines(row), bucket_s=0.25) == 2
    assert bucketed_peak(timelines(row), bucket_s=0.1) == 1
    assert bucketed_peak(timelines([flight(None, None)])) is None


def gaps(with_prefill: float, decode_ms: float, prefill_ms: float) -> Floats:
    """Gaps between tokens of which a share also carries prefills."""
    rng = np.random.default_rng(1)
    count = REQUESTS * (ANSWER - 1)
    slow = round(count * with_prefill)
    short = decode_ms * np.exp(0.03 * rng.standard_normal(count - slow))
    return np.concatenate([short, prefill_ms * np.exp(0.2 * rng.standard_normal(slow))])


@pytest.mark.parametrize(
    ("with_prefill", "decode_ms", "prefill_ms", "median", "mean"),
    [(0.48, 20.0, 304.0, 21.05, 159.14), (0.62, 27.0, 228.0, 190.12, 154.86)],
    ids=["awq", "bf16"],
)
def test_two_kinds_of_steps_explain_a_median_far_from_the_mean(
    with_prefill: float, decode_ms: float, prefill_ms: float, median: float, mean: float
) -> None:
    """Both arms can be alike: as the share of steps with prefill passes one half, the median jumps to the other heap.

    The inputs are one guess that gives the report's figures; its timelines, which would decide, were not kept.
    """
    pooled = gaps(with_prefill, decode_ms, prefill_ms)

    found = itl_modes(pooled)

    assert float(np.mean(pooled)) == pytest.approx(mean, rel=0.01)
    assert float(np.median(pooled)) == pytest.approx(median, rel=0.02)
    assert found is not None
    short, long = found.modes
    assert long.share == pytest.approx(with_prefill, abs=0.001)
    assert short.share == pytest.approx(1 - with_prefill, abs=0.001)
    assert short.center_ms == pytest.approx(decode_ms, rel=0.01)
    assert long.center_ms == pytest.approx(prefill_ms, rel=0.01)
    assert found.long_time_share is not None
    assert found.long_time_share > 0.9
