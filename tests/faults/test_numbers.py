"""Faults of arithmetic: which formula, which window, and what is done with what is missing."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analyze.make_cell import timelines
from tests.drive.fake_server import HEAD, Received, chunk, event, raw, stream
from tests.faults.measured import MS, measure, planned, summarised
from tests.record.make_run import failed, record
from whichbits.analyze.latency.throughput import steady_output_tokens_per_s
from whichbits.analyze.load.concurrency import Window, bucketed_peak, peak_concurrency
from whichbits.analyze.load.steady import steady_window
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Load

ONE, TWO = Load(concurrency=1), Load(concurrency=2)


def answered(index: int, sent_ms: float, chunks_ms: list[float]) -> RequestRecord:
    """One answer, a token a chunk, sent when it was scheduled and over at its last chunk."""
    stamps = tuple(round(each * MS) for each in chunks_ms)
    good = record(index, round(sent_ms * MS), n=len(chunks_ms))
    return replace(good, sent_ns=good.scheduled_ns, chunk_ns=stamps, finished_ns=stamps[-1])


def test_fault_16_trimming_keeps_whole_requests_that_overlap_the_window() -> None:
    """guidellm#1078. Two streams, three answers each, 4 tokens an answer, one each 10 ms.

    The window begins when two are in flight (0 ms, its start outside) and ends with the last send (80 ms). By then the
    first answers (10 to 40 ms) and the second ones (50 to 80 ms) have come, 16 tokens, and nothing of the third.
    """
    records = [
        answered(2 * turn + stream_, 40 * turn, [40 * turn + 10 * n for n in (1, 2, 3, 4)])
        for turn in range(3)
        for stream_ in range(2)
    ]
    seen = timelines(records)
    window = steady_window(seen)

    assert window == Window(0, 80 * MS)
    assert steady_output_tokens_per_s(seen, window) == pytest.approx(16 / 0.08)


def test_fault_17_tpot_includes_ttft_and_tails_are_of_means() -> None:
    """guidellm#1144, #1145. TTFT of a second, gaps of 10, 10, 10 and 100 ms: TPOT 32.5, and the tail sees the 100."""
    summary = summarised([answered(0, 0, [1000, 1010, 1020, 1030, 1130])], ONE)

    assert summary.ttft_ms.p50 == 1000
    assert summary.tpot_ms.p50 == pytest.approx(130 / 4)
    assert summary.itl_ms.n == 4
    assert summary.itl_ms.p99 == pytest.approx(np.percentile([10, 10, 10, 100], 99))
    assert summary.itl_ms.p50 == 10


def test_fault_23_what_was_not_measured_is_zero() -> None:
    """sglang PR #36047, evalscope#1694. A failed request has no TTFT, a single token no TPOT; neither is 0 anywhere."""
    good = [record(index, ttft_ms=200, n=3) for index in (0, 1)]
    single = replace(record(2, ttft_ms=200, n=1), output_tokens=1)
    summary = summarised([*good, single, *(failed(record(index)) for index in (3, 4, 5, 6))], TWO)
    nothing = summarised([failed(record(0))], ONE)

    assert (summary.ttft_ms.n, summary.ttft_ms.p50) == (3, 200)
    assert (summary.tpot_ms.n, summary.tpot_ms.p50, summary.excluded_from_tpot) == (2, 10, 1)
    assert (nothing.ttft_ms.p50, nothing.tpot_ms.mean, nothing.itl_ms.p99) == (None, None, None)


def test_fault_23_over_a_socket_too() -> None:
    async def answer(request: Received, writer: object) -> None:
        dies = raw(HEAD, chunk(b": nothing yet\n\n"), close=True)
        await (dies if request.body["prompt"][0] % 2 else stream(first_s=0.03))(request, writer)  # type: ignore[arg-type]

    found = measure(answer, planned(6), ONE)

    assert found.summary.errors == {"connection_lost": 3}
    assert found.summary.ttft_ms.n == 3
    assert found.summary.ttft_ms.p50 is not None
    assert found.summary.ttft_ms.p50 >= 29


def test_also_a_peak_is_of_one_moment() -> None:
    """Section 2.1. One stream, ten answers in a second: the peak is 1; buckets of a second call it 10."""
    seen = timelines([answered(n, 90 * n, [90 * n + 40, 90 * n + 80]) for n in range(10)])

    assert peak_concurrency(seen) == 1
    assert bucketed_peak(seen) == 10


def test_also_the_answer_of_one_chunk_has_no_pace() -> None:
    found = measure(raw(HEAD, chunk(event("all at once", finish="length", usage=4)), b"0\r\n\r\n"), planned(2), ONE)

    assert [each.error for each in found.records] == [None, None]
    assert (found.summary.tpot_ms.n, found.summary.excluded_from_tpot) == (0, 2)
    assert found.summary.output_tokens == 8
