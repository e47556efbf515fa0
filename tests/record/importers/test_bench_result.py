"""Results of ``vllm bench serve`` and SGLang become cells, with their requests where they were kept."""

import json
from pathlib import Path

import pytest

from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import detailed, imported, sglang
from whichbits.record.importers.bench_requests import UNEQUAL_LISTS
from whichbits.record.importers.imported_cell import FAILED

MS = 1_000_000


def test_statistics_are_read_under_our_names(tmp_path: Path) -> None:
    told = bench_record(median_ttft_ms=90.0, p99_ttft_ms=300.0, p90_itl_ms=50.0, mean_e2el_ms=4000.0)
    (cell,) = imported(tmp_path, told)

    assert cell.imported.tool == "vllm bench serve"
    assert (cell.arm, cell.concurrency, cell.request_rate) == ("acme/tiny-7b", 4, None)
    assert (cell.completed, cell.failed) == (40, 0)
    assert cell.records == ()
    assert cell.imported.statistics == {
        "ttft_ms.mean": 100.0,
        "ttft_ms.p50": 90.0,
        "ttft_ms.p99": 300.0,
        "ttft_from_send_ms.mean": 100.0,
        "ttft_from_send_ms.p50": 90.0,
        "ttft_from_send_ms.p99": 300.0,
        "tpot_ms.mean": 40.0,
        "itl_ms.mean": 40.0,
        "itl_ms.p50": 39.0,
        "itl_ms.p90": 50.0,
        "e2e_ms.mean": 4000.0,
        "prompt_tokens": 8000.0,
        "output_tokens": 4000.0,
        "duration_s": 50.0,
        "output_tokens_per_s": 80.0,
        "total_tokens_per_s": 240.0,
        "requests_per_s": 0.8,
    }


def test_a_detailed_result_gives_its_requests(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, detailed())
    first, second, lost = cell.records

    assert (first.prompt_tokens, first.output_tokens) == (100, 3)
    assert first.sent_ns == first.scheduled_ns == 0
    assert first.chunk_ns == (100 * MS, 110 * MS, 140 * MS)
    assert first.finished_ns == 140 * MS
    assert second.sent_ns == 1000 * MS
    assert second.chunk_ns == (1200 * MS, 1250 * MS)
    assert (lost.error_code, lost.error, lost.output_tokens) == (FAILED, "Connection reset", None)
    assert lost.sent_ns == 2000 * MS
    assert (cell.completed, cell.failed) == (2, 1)
    assert cell.imported.one_clock


def test_the_latency_ends_an_answer_where_it_was_kept(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, detailed(latencies=[0.5, 0.6, 0.0]))

    assert [record.finished_ns for record in cell.records] == [500 * MS, 1600 * MS, None]


def test_before_0_15_sends_have_no_common_clock(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, detailed(start_times=None))

    assert not cell.imported.one_clock
    assert [record.sent_ns for record in cell.records] == [0, 0, 0]
    assert cell.records[1].chunk_ns == (200 * MS, 250 * MS)


def test_an_answer_that_did_not_stream_has_no_first_token(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, detailed(ttfts=[0.0, 0.2, 0.0], itls=[[], [0.05], []]))

    assert cell.records[0].chunk_ns == ()
    assert cell.records[0].succeeded


def test_lists_that_do_not_belong_together_are_not_read(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, detailed(ttfts=[0.1, 0.2]))

    assert cell.records == ()
    assert cell.notes == (UNEQUAL_LISTS,)
    assert cell.imported.statistics["duration_s"] == 4.0


def test_appended_results_are_cells(tmp_path: Path) -> None:
    lines = [json.dumps(bench_record(max_concurrency=load)) for load in (1, 8)]

    assert [cell.concurrency for cell in imported(tmp_path, "\n".join(lines))] == [1, 8]


@pytest.mark.parametrize(("rate", "read"), [("inf", None), (float("inf"), None), (2.5, 2.5), (0, None)])
def test_a_request_rate_may_be_unlimited(tmp_path: Path, rate: object, read: float | None) -> None:
    (cell,) = imported(tmp_path, json.dumps(bench_record(request_rate=rate)))

    assert cell.request_rate == read


def test_a_label_names_the_arm(tmp_path: Path) -> None:
    assert imported(tmp_path, bench_record(label="w4a16"))[0].arm == "w4a16"


@pytest.mark.parametrize(
    ("changed", "failed"), [({"num_prompts": 45}, 5), ({"num_prompts": None}, None), ({"failed": 2}, 2)]
)
def test_failures_are_told_or_follow_or_are_unknown(
    tmp_path: Path, changed: dict[str, int], failed: int | None
) -> None:
    (cell,) = imported(tmp_path, bench_record(**changed))

    assert cell.failed == failed
    assert bool(cell.cell(0, "arm", 0).notes) == (failed is None)


def test_sglang_is_told_apart(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, sglang())

    assert cell.imported.tool == "sglang bench_serving"
    assert cell.imported.definitions["ttft_ms"] == "ttft_send_zero_if_unmeasured"
    assert cell.imported.definitions["tpot_ms"] == "tpot"
    assert cell.imported.statistics["e2e_ms.p50"] == 880.0
    assert cell.imported.statistics["total_tokens_per_s"] == 600.0


def test_sglang_s_requests_are_read_alike(tmp_path: Path) -> None:
    lists = {key: detailed()[key] for key in ("input_lens", "output_lens", "ttfts", "itls", "errors")}
    (cell,) = imported(tmp_path, sglang(**lists))

    assert [record.output_tokens for record in cell.records] == [3, 2, None]
