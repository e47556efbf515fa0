"""Imported cells make an ordinary run, which every reader of runs can read."""

from pathlib import Path

import pytest

from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import GUIDELLM_REQUESTS, aiperf, detailed, guidellm, imported
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.record.importers.imported_run import write_imported_run
from whichbits.record.run import Run


def summary_of(folder: Path, content: object) -> Summary:
    return summarize(Run.load(write_imported_run(folder, "imported", {"arm": imported(folder, content)})))


def cell_of(folder: Path, content: object) -> CellSummary:
    (cell,) = summary_of(folder, content).cells
    return cell


def test_statistics_stand_in_the_summary_as_they_were_told(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, aiperf())

    assert (cell.requests, cell.failed, cell.concurrency) == (40, 0, 8)
    assert (cell.ttft_ms.mean, cell.ttft_ms.p50, cell.ttft_ms.p99) == (60.0, 50.0, 120.0)
    assert cell.tpot_ms.p50 == 16.5
    assert cell.output_tokens_per_s == 200.0
    assert cell.mean_batch == pytest.approx(200.0 * 16.5e-3)
    assert cell.definitions["tpot_ms"] == "tpot_tokens_by_client"


def test_statistics_have_no_interval_and_no_window(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, aiperf())

    assert cell.intervals == {}
    assert cell.steady_output_tokens_per_s is None
    assert cell.peak_concurrency is None
    assert cell.prefix_hit_rate is None


def test_what_was_not_told_is_null(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, bench_record(median_itl_ms=None))

    assert (cell.tpot_ms.p50, cell.tpot_ms.p99, cell.itl_ms.p50) == (None, None, None)
    assert (cell.e2e_ms.n, cell.e2e_ms.mean) == (0, None)


def test_a_percentile_of_few_requests_is_thin(tmp_path: Path) -> None:
    few, many = (cell_of(tmp_path, bench_record(completed=count, p99_ttft_ms=9.0)) for count in (40, 1000))

    assert few.ttft_ms.thin == ("p90", "p99")
    assert many.ttft_ms.thin == ()


def test_requests_give_the_latencies_and_the_tool_its_own_rates(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, detailed())

    assert cell.ttft_ms.p50 == pytest.approx(150.0)
    assert cell.tpot_ms.mean == pytest.approx((20.0 + 50.0) / 2)
    assert cell.itl_ms.n == 3
    assert cell.itl_ms.p50 == pytest.approx(30.0)
    assert (cell.requests, cell.failed) == (3, 1)
    assert cell.errors == {"failed_elsewhere": 1}
    assert (cell.duration_s, cell.output_tokens_per_s) == (4.0, 1.25)


def test_without_a_common_clock_nothing_is_said_of_time(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, detailed(start_times=None, duration=0, output_throughput=None, request_throughput=0.5))

    assert cell.ttft_ms.p50 == pytest.approx(150.0)
    assert cell.peak_concurrency is None
    assert cell.steady_output_tokens_per_s is None
    assert cell.output_tokens_per_s is None


def test_first_and_last_token_give_no_gaps(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, guidellm(GUIDELLM_REQUESTS))

    assert cell.tpot_ms.p50 == pytest.approx(15.0)
    assert cell.itl_ms.n == 0
    assert cell.itl_modes is None
    assert cell.steady_output_tokens_per_s is None


def test_cells_of_one_load_are_repeats(tmp_path: Path) -> None:
    cells = [cell for at in range(3) for cell in imported(tmp_path, bench_record(), f"{at}.json")]
    run = Run.load(write_imported_run(tmp_path, "imported", {"arm": cells}))

    assert [(cell.cell, cell.repeat) for cell in run.cells] == [(0, 0), (1, 1), (2, 2)]
    assert run.manifest.source == "imported"
    assert run.manifest.tools["vllm bench serve"] == "unknown"
    assert not run.interrupted


def test_arms_of_different_meaning_draw_no_crossover(tmp_path: Path) -> None:
    chat = [imported(tmp_path, bench_record(backend="openai-chat", vllm_version=v))[0] for v in ("0.25.1", "0.33.0")]
    completions = imported(tmp_path, bench_record())[0]

    def compared(*cells: object) -> set[str]:
        arms = {f"arm{at}": [cell] for at, cell in enumerate(cells)}
        folder = write_imported_run(tmp_path, "imported", arms)  # type: ignore[arg-type]
        return {crossover.metric for crossover in summarize(Run.load(folder)).crossovers}

    assert compared(*chat) == {"output_tokens_per_s"}
    assert compared(chat[1], completions) == {"tpot_ms.mean", "itl_ms.p50", "output_tokens_per_s"}
