"""AIPerf, inference-perf and llm-d's reports, each with hand-worked values."""

import json
from pathlib import Path

import pytest

from tests.record.importers.make_results import (
    AIPERF_CSV,
    AIPERF_RECORDS,
    INFERENCE_PERF_REQUESTS,
    LLMD_NEW,
    aiperf,
    imported,
    inference_perf,
    llmd_old,
)
from whichbits.record.importers.vllm_chat import CHAT, COMPLETIONS

MS = 1_000_000


def test_aiperf_s_itl_is_our_tpot_and_its_icl_our_itl(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, aiperf())
    told = cell.imported.statistics

    assert (cell.arm, cell.concurrency, cell.request_rate) == ("acme/tiny-7b", 8, None)
    assert (cell.completed, cell.failed) == (40, 0)
    assert (told["tpot_ms.p50"], told["itl_ms.p50"]) == (16.5, 15.0)
    assert (told["ttft_from_send_ms.mean"], told["e2e_ms.p99"]) == (60.0, 1500.0)
    assert (told["duration_s"], told["output_tokens"], told["requests_per_s"]) == (10.0, 2000.0, 4.0)
    assert "total_tokens_per_s" not in told


def test_aiperf_units_are_heeded(tmp_path: Path) -> None:
    seconds = {"unit": "s", "avg": 0.06, "p50": 0.05}
    (cell,) = imported(tmp_path, aiperf(time_to_first_token=seconds, was_cancelled=True))

    assert cell.imported.statistics["ttft_ms.p50"] == 50.0
    assert cell.notes == ("the run was cancelled before its end",)


def test_aiperf_s_csv_says_the_same_but_not_the_load(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, AIPERF_CSV, "profile_export_aiperf.csv")
    told = cell.imported.statistics

    assert (cell.concurrency, cell.request_rate, cell.completed) == (None, None, 40)
    assert (told["e2e_ms.mean"], told["e2e_ms.p99"], told["tpot_ms.p50"]) == (1900.0, 2500.0, 16.5)
    assert "tpot_ms.p90" not in told  # an empty field is no 0
    assert told["duration_s"] == 10.0


def test_aiperf_s_records_are_requests_without_those_of_the_warm_up(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, AIPERF_RECORDS, "profile_export.jsonl")
    lost, good = cell.records

    assert (lost.sent_ns, lost.error) == (0, "cancelled after 0 s")
    assert good.sent_ns == 1000 * MS
    assert good.chunk_ns == (1100 * MS, 1110 * MS, 1130 * MS)
    assert (good.prompt_tokens, good.output_tokens, good.finished_ns) == (550, 4, 1135 * MS)
    assert cell.imported.definitions["itl_ms"] == "itl_chunks"


def test_without_gaps_aiperf_s_records_have_no_itl(tmp_path: Path) -> None:
    told = json.loads(AIPERF_RECORDS.splitlines()[1])
    del told["metrics"]["inter_chunk_latency"]
    (cell,) = imported(tmp_path, told)

    assert cell.records[0].chunk_ns == (100 * MS, 135 * MS)
    assert "itl_ms" not in cell.imported.definitions


def test_inference_perf_speaks_in_seconds(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, inference_perf())
    told = cell.imported.statistics

    assert (cell.concurrency, cell.request_rate) == (None, 4.0)
    assert (cell.completed, cell.failed) == (40, 2)
    assert told["ttft_ms.p50"] == pytest.approx(50.0)
    assert told["itl_ms.p50"] == pytest.approx(0.1)
    assert cell.imported.definitions["itl_ms"] == "itl_tokens"
    assert (told["prompt_tokens"], told["output_tokens"]) == (4000, 2000)


def test_inference_perf_s_concurrency_is_the_load_where_there_is_one(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, inference_perf(concurrency=16))

    assert (cell.concurrency, cell.request_rate) == (16, None)


def test_inference_perf_s_tokens_of_one_time_came_in_one_chunk(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, INFERENCE_PERF_REQUESTS)
    lost, good = cell.records

    assert (lost.sent_ns, lost.error) == (0, "reset by peer")
    assert good.sent_ns == 1000 * MS
    assert good.chunk_ns == (1100 * MS, 1200 * MS, 1400 * MS)
    assert good.chunk_tokens == (1, 2, 1)
    assert (good.prompt_tokens, good.output_tokens, good.finished_ns) == (100, 4, 1500 * MS)
    assert cell.imported.definitions["itl_ms"] == "itl_chunks"


def test_times_of_events_without_text_are_no_tokens(tmp_path: Path) -> None:
    flat = {
        **INFERENCE_PERF_REQUESTS[0],
        "info": {"input_tokens": 9, "output_tokens": 2, "output_token_times": [1, 2, 3]},
    }
    (cell,) = imported(tmp_path, [flat])

    assert "ttft_ms" not in cell.imported.definitions
    assert "output_tokens_per_s" in cell.imported.definitions


def test_an_old_llmd_report(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, llmd_old())
    told = cell.imported.statistics

    assert cell.imported.tool == "llm-d benchmark report of inference-perf"
    assert (cell.arm, cell.request_rate, cell.completed, cell.failed) == ("acme/tiny-7b", 4.0, 40, 2)
    assert told["ttft_ms.p50"] == pytest.approx(50.0)
    assert told["tpot_ms.mean"] == pytest.approx(17.0)
    assert told["itl_ms.mean"] == 17.0
    assert (told["output_tokens_per_s"], told["duration_s"]) == (200.0, 10.0)
    assert cell.facts == {"model": "acme/tiny-7b", "hardware": "2 x NVIDIA-L4"}


def test_a_new_llmd_report_in_yaml(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, LLMD_NEW, "report.yaml")
    told = cell.imported.statistics

    assert (cell.arm, cell.concurrency, cell.completed) == ("acme/tiny-7b", 16, 42)
    assert (told["ttft_ms.p99"], told["output_tokens_per_s"], told["requests_per_s"]) == (120.0, 200.0, 4.0)
    assert told["duration_s"] == 70.5
    assert "tpot_ms" not in cell.imported.definitions  # GuideLLM's contains the TTFT
    assert cell.facts["hardware"] == "1 x NVIDIA-L4"


@pytest.mark.parametrize(
    ("load", "meaning"),
    [
        ({"name": "vllm-benchmark"}, CHAT["unknown"]),
        ({"name": "vllm-benchmark", "args": {"backend": "openai", "max_concurrency": 4}}, COMPLETIONS),
        ({"name": "whichbits"}, COMPLETIONS),
        ({"name": "nop"}, {"ttft_ms": "unstated"}),
    ],
)
def test_a_report_means_what_its_tool_means(tmp_path: Path, load: dict[str, object], meaning: dict[str, str]) -> None:
    (cell,) = imported(tmp_path, llmd_old(**load))

    assert cell.imported.definitions["ttft_ms"] == meaning["ttft_ms"]
