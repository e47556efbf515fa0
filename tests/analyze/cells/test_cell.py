"""Concurrency, throughput, goodput and cache hits of a cell."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.make_cell import CELL, flight, timelines
from tests.record.make_run import MS, PowerLaw, SyntheticArm, cell_records, failed, record
from whichbits.analyze.cache.hits import prefix_hit_rate
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.latency.throughput import steady_output_tokens_per_s, throughput
from whichbits.analyze.load.concurrency import peak_concurrency
from whichbits.analyze.load.steady import steady_window
from whichbits.record.columns import table_of
from whichbits.serve.metrics import EngineCounters
from whichbits.study.model import Slo

flights = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=20)
ARM = SyntheticArm(tpot_ms=PowerLaw(10.0), ttft_ms=PowerLaw(21.0), output_tokens=8)
"""One request is in flight for 91 ms: sent after 1, first token at 21, 7 gaps of 10, and 1 to finish."""


@given(flights)
def test_peak_concurrency_is_that_of_a_count_at_every_instant(spans: list[tuple[int, int]]) -> None:
    ends = [(start, start + length) for start, length in spans]
    counted = max(sum(start <= now < end for start, end in ends) for now in range(50))

    assert peak_concurrency(timelines([flight(*span) for span in ends])) == counted


def test_a_request_that_starts_as_another_ends_does_not_overlap_it() -> None:
    assert peak_concurrency(timelines([flight(0, 10), flight(10, 20), flight(None, None)])) == 1


def test_the_steady_window_leaves_out_ramp_and_drain() -> None:
    ramp = [flight(0, 100), flight(10, 110), flight(20, 120)]
    full = [flight(start, start + 100) for first in (100, 200, 300) for start in (first, first + 10, first + 20)]

    window = steady_window(timelines(ramp + full))

    assert window == (20, 320)


@pytest.mark.parametrize("streams", [1, 4])
def test_steady_throughput_is_the_closed_loops_own_pace(streams: int) -> None:
    cell = timelines(cell_records(ARM, streams, requests=5 * streams, start_ns=0))
    between_sends_s = 0.092

    found = steady_output_tokens_per_s(cell, steady_window(cell))

    assert found == pytest.approx(streams * ARM.output_tokens / between_sends_s)


def test_whole_cell_throughput_spans_first_send_to_last_finish() -> None:
    found = throughput(timelines(cell_records(ARM, streams=2, requests=6, start_ns=7 * MS)))

    assert found.duration_s == pytest.approx(3 * 0.092 - 0.001)
    assert found.output_tokens == 6 * 8
    assert found.total_tokens_per_s == pytest.approx(6 * 108 / 0.275)
    assert found.requests_per_s == pytest.approx(6 / 0.275)


@pytest.mark.parametrize("requests", [0, 1, 4], ids=["empty", "one", "one a stream"])
def test_a_cell_too_small_to_hold_steady_has_no_steady_window(requests: int) -> None:
    assert steady_window(timelines(cell_records(ARM, 4, requests, start_ns=0))) is None


def test_goodput_counts_failures_and_joint_misses_against_the_cell() -> None:
    prompt, slow_start, slow_pace = record(0), record(1, ttft_ms=51), record(2, tpot_ms=21)
    one_token = record(3, n=1)
    records = [prompt, slow_start, slow_pace, one_token, failed(record(4))]

    found = cell_summary(CELL, table_of(CELL, records), slo=Slo(ttft_ms=50, tpot_ms=20))

    assert found.slo_share == 2 / 5
    assert found.goodput_requests_per_s == pytest.approx(2 / (found.duration_s or 0))
    assert found.failed == 1
    assert found.errors == {"connection_lost": 1}


def test_what_the_users_stop_cut_off_has_neither_failed_nor_been_served() -> None:
    records = [record(0), failed(record(1)), replace(failed(record(2)), error_code="cancelled")]

    found = cell_summary(CELL, table_of(CELL, records))

    assert (found.requests, found.served, found.failed) == (3, 1, 1)
    assert found.errors == {"connection_lost": 1, "cancelled": 1}


def test_a_cell_that_never_ran_has_no_numbers() -> None:
    found = cell_summary(CELL, table_of(CELL, []), slo=Slo(ttft_ms=50))

    assert (found.requests, found.output_tokens) == (0, 0)
    assert found.duration_s is found.output_tokens_per_s is found.mean_batch is found.slo_share is None
    assert found.peak_concurrency is found.prefix_hit_rate is found.prompt_tokens is None


ENGINE = EngineCounters(400, 100, 40, 4, 0, 0.0, 0)


@pytest.mark.parametrize(
    ("cached", "engines", "rate"),
    [
        (25, [], 0.25),
        (0, [ENGINE], 0.0),
        (None, [ENGINE, replace(ENGINE, cached_prompt_tokens=0)], 0.125),
        (None, [ENGINE, replace(ENGINE, cached_prompt_tokens=None)], None),
        (None, [], None),
    ],
    ids=["usage", "usage before counters", "counters of all replicas", "a silent replica", "unknown"],
)
def test_prefix_hits_come_from_usage_else_counters_else_are_unknown(
    cached: int | None, engines: list[EngineCounters], rate: float | None
) -> None:
    cell = timelines([replace(record(), cached_tokens=cached)] * 4)

    assert prefix_hit_rate(cell, engines) == rate
