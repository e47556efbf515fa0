"""Profiling takes a window of its own: after what is measured, beside it in the record, and never at its cost."""

import json
from typing import Any

import pytest

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import WITH_PACED_ENGINE, good_exit, run_of, states, tool
from whichbits.record.run import Run

_PROFILE = {"seconds": 0.3}


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


def test_each_chosen_load_is_profiled_once_in_traffic_that_no_cell_counts(profiled: Run) -> None:
    assert states(profiled) == ["done"] * 8
    assert {cell.requests for cell in profiled.cells} == {4}
    windows = summary(profiled)["profiles"]

    assert [(each["arm"], each["concurrency"], each["notes"]) for each in windows] == [
        ("good", 1, []),
        ("good", 2, []),
    ]
    for window in windows:
        assert len(window["traces"]) == 1
        assert (profiled.folder / window["traces"][0]).stat().st_size > 0
        assert 150 < window["kernel_time"]["window_ms"] < 2000
        assert [kind["kind"] for kind in window["kernel_time"]["kinds"]] == ["gemm"]


def test_a_profiler_that_refuses_costs_nothing_but_its_window(profiled: Run) -> None:
    notes = [note for note in profiled.manifest.notes if note.startswith("refusing at")]

    # Tried anew in the second repeat's visit.
    assert [note.partition(":")[0] for note in notes] == ["refusing at c1", "refusing at c2"] * 2
    assert all("no kernel time" in note and "404" in note for note in notes)


def test_the_report_says_where_the_time_went(profiled: Run) -> None:
    findings = [each for each in summary(profiled)["findings"] if each["code"] == "kernel_time"]

    assert len(findings) == 2
    assert "good spent GEMM" in findings[0]["text"]
    assert findings[0]["evidence"][1] == "profiles/good-c1.0.trace.json.gz"
