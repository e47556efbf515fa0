"""Known requests in, known times out; a sample keeps the slowest and says why each request is there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.record.make_run import MS, SyntheticArm, failed, make_run, record
from whichbits.analyze.latency import request_timelines as subject
from whichbits.analyze.latency.request_timelines import CellRequests, RequestTimes, cell_requests, request_timelines
from whichbits.record.columns import table_of
from whichbits.record.run import Run
from whichbits.record.schema import Cell, Imported, RequestRecord

CELL = Cell(0, "a", 4, None, 0)


def shown(records: Sequence[RequestRecord], most: int = 300) -> CellRequests:
    return cell_requests(CELL, table_of(CELL, records), most)


def test_each_time_of_a_request_counts_from_the_first_plan() -> None:
    stalled = replace(record(7, 50 * MS, ttft_ms=20, n=3), chunk_ns=(70 * MS, 75 * MS, 175 * MS), finished_ns=200 * MS)

    first, second = shown([record(3, 10 * MS, ttft_ms=5, tpot_ms=2, n=2), stalled]).requests

    assert first == RequestTimes(3, 0.0, 1.0, 5.0, 7.0, 7.0, 2, 5.0, 2.0, "0", None)
    assert second == RequestTimes(7, 40.0, 41.0, 60.0, 165.0, 165.0, 3, 65.0, 100.0, "0", None)


def test_what_a_failed_request_never_reached_is_not_known_and_it_ends_when_it_was_given_up() -> None:
    good = record(0, 0, n=11)
    never_sent = replace(failed(record(1, 5 * MS)), sent_ns=None, finished_ns=30 * MS)
    half = replace(good, index=2, chunk_ns=good.chunk_ns[:2], finished_ns=900 * MS, error_code="timeout")

    requests = {request.index: request for request in shown([good, never_sent, half]).requests}

    assert requests[1] == RequestTimes(1, 5.0, None, None, None, 30.0, None, None, None, "0", "connection_lost")
    assert (requests[2].first_ms, requests[2].last_ms, requests[2].ended_ms) == (20.0, 30.0, 900.0)
    assert requests[2].error == "timeout"


def test_requests_stand_in_the_order_of_their_sends() -> None:
    late = replace(record(0, 0), sent_ns=400 * MS)

    assert [request.index for request in shown([late, record(1, 300 * MS), record(2, 200 * MS)]).requests] == [2, 1, 0]


def test_a_single_chunk_has_no_gap_and_borrows_none_from_its_neighbours() -> None:
    records = [record(0, 0, n=1), record(1, 1000 * MS, tpot_ms=4, n=3), record(2, 9000 * MS, n=1)]

    assert [request.gap_ms for request in shown(records).requests] == [None, 4.0, None]


def test_the_first_of_equally_long_gaps_is_named() -> None:
    (request,) = shown([record(0, 0, ttft_ms=20, tpot_ms=10, n=5)]).requests

    assert (request.gap_from_ms, request.gap_ms) == (20.0, 10.0)


def many() -> list[RequestRecord]:
    """A thousand alike, but for five slow to begin, five slow in all, five with a stall, and five failed."""
    records = [record(index, index * 10 * MS, ttft_ms=20, tpot_ms=1, n=20) for index in range(1000)]
    for index in range(100, 105):
        records[index] = record(index, index * 10 * MS, ttft_ms=500 + index, tpot_ms=1, n=20)
        records[index + 100] = record(index + 100, index * 10 * MS, ttft_ms=20, tpot_ms=100, n=20)
        stalled = records[index + 200]
        records[index + 200] = replace(stalled, chunk_ns=(*stalled.chunk_ns[:-1], stalled.chunk_ns[-1] + 300 * MS))
        records[index + 300] = failed(records[index + 300])
    return records


def test_a_sample_keeps_what_failed_and_what_was_slow_and_says_so() -> None:
    found = shown(many(), most=80)

    indices = {request.index for request in found.requests}
    kept = {index + hundreds for index in range(100, 105) for hundreds in (0, 100, 200, 300)}
    assert kept <= indices
    assert len(found.requests) == found.sample.shown == 80
    assert (found.sample.total, found.failed, found.sample.failed) == (1000, 5, 5)
    assert (found.sample.slow_to_first, found.sample.slow_in_all, found.sample.long_gaps) == (10, 10, 10)
    assert {0, 999} <= indices
    assert np.diff(sorted(indices)).max() < 40
    assert not found.sample.whole


def test_a_sample_is_the_same_each_time() -> None:
    assert shown(many(), 80) == shown(many(), 80)


def test_where_all_failed_some_are_shown_and_all_are_counted() -> None:
    found = shown([failed(record(index, index * MS)) for index in range(400)], most=80)

    assert (found.failed, found.sample.failed, len(found.requests)) == (400, 20, 80)


def test_few_requests_are_shown_whole() -> None:
    assert shown([record(index) for index in range(80)], most=80).sample.whole


def test_a_run_shows_its_cells_within_the_page_s_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.load(make_run(tmp_path, {"a": SyntheticArm(lambda _: 5.0)}, loads=(1, 8), repeats=2, per_stream=10))
    monkeypatch.setattr(subject, "MOST_A_RUN", 90)

    found = request_timelines(run)

    told = [(each.cell.concurrency, each.cell.repeat, len(each.requests)) for each in found]
    assert told == [(1, 0, 10), (1, 1, 10), (8, 0, 30)]


def test_of_chosen_cells_only_these_are_shown(tmp_path: Path) -> None:
    run = Run.load(make_run(tmp_path))
    chosen = {cell.cell for cell in run.cells[1:3]}

    assert {each.cell.cell for each in request_timelines(run, chosen)} == chosen
    assert {each.cell.cell for each in request_timelines(run)} > chosen


def test_cells_whose_clocks_are_not_known_against_each_other_are_left_out(tmp_path: Path) -> None:
    run = Run.load(make_run(tmp_path, {"a": SyntheticArm(lambda _: 5.0)}, loads=(1, 2)))
    apart = replace(run.cells[0], imported=Imported("x", {}, one_clock=False))

    found = request_timelines(replace(run, manifest=replace(run.manifest, cells=(apart, run.cells[1]))))

    assert [each.cell.cell for each in found] == [1]
