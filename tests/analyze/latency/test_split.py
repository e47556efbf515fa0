"""Where a request's time goes, engine and client side by side."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import timelines
from tests.analyze.make_observed import times
from tests.record.make_run import failed, record
from whichbits.analyze.latency.split import latency_split, ttft_by_cache
from whichbits.analyze.summary import Distribution


def mean(value: float | None) -> Distribution:
    return Distribution(10, value, None, None, None)


def test_stages_and_what_lies_outside_the_engine_add_up_to_ttft() -> None:
    seen = {"engine_queue_ms": times(30.0), "engine_prefill_ms": times(60.0), "engine_decode_ms": times(900.0)}

    found = latency_split(seen, mean(110.0), mean(100.0))

    assert found is not None
    assert found.before_send == pytest.approx(10.0)
    assert found.outside == pytest.approx(10.0)
    assert found.queue_share_of_ttft == pytest.approx(1 / 3)
    parts = (found.before_send, found.queue, found.prefill, found.outside)
    assert sum(part or 0 for part in parts) == pytest.approx(110.0)


def test_what_a_side_does_not_tell_is_unknown() -> None:
    found = latency_split({"engine_prefill_ms": times(60.0)}, mean(None), mean(None))

    assert found is not None
    assert (found.queue, found.outside, found.before_send, found.queue_share_of_ttft) == (None, None, None, None)
    assert latency_split({}, mean(100.0), mean(100.0)) is None


def test_hits_and_misses_have_times_of_their_own() -> None:
    hit, miss = replace(record(0, ttft_ms=20), cached_tokens=50), replace(record(1, ttft_ms=200), cached_tokens=49)
    broken = replace(failed(record(2)), cached_tokens=None)

    found = ttft_by_cache(timelines([hit, miss, broken]))

    assert found is not None
    assert (found.hits.n, found.hits.p50, found.misses.n, found.misses.p50) == (1, 20.0, 1, 200.0)


def test_one_request_that_does_not_tell_leaves_the_split_unknown() -> None:
    assert ttft_by_cache(timelines([record(0), replace(record(1), cached_tokens=None)])) is None
    assert ttft_by_cache(timelines([replace(record(), prompt_tokens=0)])) is None
    assert ttft_by_cache(timelines([])) is None
