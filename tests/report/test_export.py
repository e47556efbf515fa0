"""Exports have the keys of the real formats, and say the same when they are read back."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.record.make_run import TWO_ARMS, PowerLaw, SyntheticArm, make_run
from whichbits.analyze.comparison.comparison import compare
from whichbits.analyze.comparison.pairs import pairs
from whichbits.analyze.comparison.sources import read_source
from whichbits.errors import BadInput
from whichbits.record.importers.tools import read_results
from whichbits.record.run import Run
from whichbits.report.export import export_run

DETAILED_KEYS = {"input_lens", "output_lens", "ttfts", "itls", "errors", "start_times", "latencies"}
SETUP_KEYS = {
    "date",
    "endpoint_type",
    "backend",
    "label",
    "model_id",
    "tokenizer_id",
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
}
RESULT_KEYS = {
    "duration",
    "completed",
    "failed",
    "total_input_tokens",
    "total_output_tokens",
    "request_throughput",
    "request_goodput",
    "output_throughput",
    "total_token_throughput",
}
"""Of a result of vLLM 0.32 in detail, as docs/compare.md tells."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    arms = TWO_ARMS | {"broken": SyntheticArm(tpot_ms=PowerLaw(10.0), failed_requests=1)}
    return Run.load(make_run(tmp_path, arms, loads=(1, 4)))


def vllm(run: Run) -> list[Path]:
    return export_run(run, "vllm-bench", run.folder / "exports")


def test_a_result_of_vllm_has_its_keys(run: Run) -> None:
    record = json.loads(vllm(run)[0].read_text())

    statistics = {
        f"{each}_{name}_ms" for each in ("mean", "median", "std", "p99") for name in ("ttft", "tpot", "itl", "e2el")
    }
    assert SETUP_KEYS | RESULT_KEYS | DETAILED_KEYS | statistics <= record.keys()
    assert record["request_rate"] == "inf"
    assert record["max_concurrency"] == 1
    assert (record["median_ttft_ms"], record["std_ttft_ms"]) == (pytest.approx(19.0), 0.0)
    assert record["median_e2el_ms"] == pytest.approx(19.0 + 10 * 12.0)
    assert len(record["itls"][0]) == 10


def test_failed_requests_are_zeros_there(run: Run) -> None:
    record = json.loads(next(path for path in vllm(run) if "broken-c4" in path.name).read_text())

    assert (record["completed"], record["failed"], record["num_prompts"]) == (15, 1, 16)
    assert (record["output_lens"][0], record["ttfts"][0], record["itls"][0]) == (0, 0.0, [])
    assert record["errors"][:2] == ["connection_lost", ""]


def test_vllm_s_format_gives_the_requests_back(run: Run) -> None:
    paths = vllm(run)
    for path, cell in zip(paths, run.cells, strict=True):
        (back,) = read_results(path)
        records = [record for record in run.records(cell.cell) if record.succeeded]
        read = [record for record in back.records if record.succeeded]
        first = min(record.sent_ns or 0 for record in run.records(cell.cell))

        assert (back.arm, back.concurrency, back.failed) == (cell.arm, cell.concurrency, cell.failed)
        assert [record.output_tokens for record in read] == [record.output_tokens for record in records]
        assert [record.prompt_tokens for record in read] == [record.prompt_tokens for record in records]
        for ours, theirs in zip(records, read, strict=True):
            gaps = [mine - first - its for mine, its in zip(ours.chunk_ns, theirs.chunk_ns, strict=True)]
            assert max(map(abs, gaps)) <= 1000  # a double holds seconds to well below a microsecond


@pytest.mark.parametrize("name", ["vllm-bench", "llm-d-report"])
def test_an_export_compares_equal_with_its_run(run: Run, name: str) -> None:
    folder = run.folder / "exports" / name
    export_run(run, name, folder)
    sides = pairs([read_source(str(run.folder)), read_source(f"back={folder}")])
    rows = [row for pair in compare(sides).pairs for row in pair.rows if row.ratio is not None]

    metrics = {row.metric for row in rows}
    assert {"tpot_ms.p50", "tpot_ms.p99", "ttft_ms.p50", "itl_ms.p99", "output_tokens_per_s"} <= metrics
    # Our E2E starts when the stream is free, 1 ms before the send from which other tools count.
    exact = [row for row in rows if not row.metric.startswith("e2e")]
    assert [row.ratio for row in exact] == pytest.approx([1.0] * len(exact))


def test_a_report_for_llmd_has_what_its_schema_requires(run: Run) -> None:
    (path, *_) = export_run(run, "llm-d-report", run.folder / "reports")
    report = yaml.safe_load(path.read_text())

    assert report.keys() == {"version", "run", "scenario", "results"}
    assert report["version"] == "0.2"
    assert report["run"]["uid"]
    load = report["scenario"]["load"]
    assert load.keys() == {"metadata", "standardized", "native"}
    assert {"tool", "tool_version", "source", "input_seq_len"} <= load["standardized"].keys()
    (component,) = report["scenario"]["stack"]
    assert component["metadata"].keys() == {"schema_version", "label", "cfg_id"}
    assert component["standardized"]["kind"] == "generic"
    aggregate = report["results"]["request_performance"]["aggregate"]
    assert aggregate["latency"].keys() == {
        "time_to_first_token",
        "time_per_output_token",
        "inter_token_latency",
        "request_latency",
    }
    assert all({"units", "mean"} <= statistic.keys() for statistic in _statistics(aggregate))
    assert aggregate["latency"]["time_per_output_token"]["units"] == "ms/token"
    assert aggregate["throughput"]["request_rate"]["units"] == "queries/s"
    assert aggregate["requests"] == {
        "total": 4,
        "failures": 0,
        "input_length": {"units": "count", "mean": 100.0},
        "output_length": {"units": "count", "mean": 11.0},
    }


def test_reports_of_one_run_have_ids_of_their_own(run: Run) -> None:
    paths = export_run(run, "llm-d-report", run.folder / "reports")

    assert len({yaml.safe_load(path.read_text())["run"]["uid"] for path in paths}) == len(paths) == 6


def test_what_cannot_be_exported_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, folder, code in (
        ("csv", tmp_path, "export_format_unknown"),
        ("vllm-bench", tmp_path / "file", "output_unwritable"),
    ):
        with pytest.raises(BadInput) as caught:
            export_run(run, name, folder)
        assert caught.value.code == code


def test_a_run_without_requests_has_nothing_to_export(tmp_path: Path) -> None:
    empty = Run.load(make_run(tmp_path, loads=()))
    with pytest.raises(BadInput) as caught:
        export_run(empty, "vllm-bench", tmp_path)
    assert caught.value.code == "nothing_to_export"


def _statistics(aggregate: dict[str, Any]) -> list[dict[str, Any]]:
    return [*aggregate["latency"].values(), *aggregate["throughput"].values()]
