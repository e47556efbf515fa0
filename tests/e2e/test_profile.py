"""Profiling takes a window of its own: after what is measured, beside it in the record, and never at its cost."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import WITH_PACED_ENGINE, good_exit, run_of, states, tool
from whichbits.record.run import Run

_PROFILE = {"loads": [2], "seconds": 0.5}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("profiled")
    study = write_study(folder, {"good": {}, "refusing": {"without_profiler": True}}, profile=_PROFILE, repeats=2)
    with tool(folder, "run", study, program=WITH_PACED_ENGINE) as running:
        code = running.wait()
        assert code == good_exit(run_of(folder)), running.stderr
        assert running.leaves_nothing_behind()
    return run_of(folder)


def summary(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.folder / "summary.json").read_text())
    return found


def test_a_chosen_load_is_profiled_once_in_traffic_that_no_cell_counts(profiled: Run) -> None:
    assert states(profiled) == ["done"] * 8
    assert {cell.requests for cell in profiled.cells} == {4}
    (window,) = summary(profiled)["profiles"]

    assert (window["arm"], window["concurrency"], window["notes"]) == ("good", 2, [])
    assert window["traces"] == ["profiles/good-c2.0.trace.json.gz"]
    assert (profiled.folder / window["traces"][0]).stat().st_size > 0
    tokens_us = traced(profiled.folder / window["traces"][0])
    # A kernel a token, of 1 ms each: from the first one's begin to the last one's end.
    assert window["kernel_time"]["window_ms"] == pytest.approx((max(tokens_us) - min(tokens_us)) / 1000 + 1)
    assert [kind["kind"] for kind in window["kernel_time"]["kinds"]] == ["gemm"]


def traced(trace: Path) -> list[float]:
    """Return when the kernels of a trace begin, microseconds."""
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    return [event["ts"] for event in events if event.get("cat") == "kernel"]


def test_a_profiler_that_refuses_costs_nothing_but_its_window(profiled: Run) -> None:
    notes = [note for note in profiled.manifest.notes if note.startswith("refusing at")]

    # Tried anew in the second repeat's visit.
    assert [note.partition(":")[0] for note in notes] == ["refusing at c2"] * 2
    assert all("no kernel time" in note and "404" in note for note in notes)


def test_the_report_says_where_the_time_went(profiled: Run) -> None:
    (finding,) = [each for each in summary(profiled)["findings"] if each["code"] == "kernel_time"]

    assert "good spent GEMM" in finding["text"]
    assert finding["evidence"][1] == "profiles/good-c2.0.trace.json.gz"


def test_traffic_that_fails_under_the_profiler_is_told(tmp_path: Path) -> None:
    """Two rounds of warm-up and two cells take 12 requests; the profiled ones are answered 500."""
    study = write_study(tmp_path, {"tired": {"refuses_at": 14}}, profile={"loads": [2], "seconds": 0.2})
    with tool(tmp_path, "run", study, program=WITH_PACED_ENGINE) as running:
        code = running.wait()
        assert code == good_exit(run_of(tmp_path)), running.stderr
    run = run_of(tmp_path)
    (window,) = summary(run)["profiles"]

    assert [cell.failed for cell in run.cells] == [0, 0]
    assert "of the profiled traffic " in window["notes"][0]
    assert any("tired at c2" in note and "failed" in note for note in run.manifest.notes)


def test_who_stops_while_profiling_keeps_all_cells_and_waits_for_no_trace(tmp_path: Path) -> None:
    study = write_study(tmp_path, {"good": {}}, profile={"loads": [2], "seconds": 60})
    with tool(tmp_path, "run", study, program=WITH_PACED_ENGINE) as running:
        running.wait_for("good at c2: profiling")
        running.press_ctrl_c()
        assert running.wait() == 130
        assert running.leaves_nothing_behind()
    run = run_of(tmp_path)

    assert states(run) == ["done", "done"]
    assert summary(run)["profiles"] == []
