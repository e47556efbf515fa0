"""A study on a machine whose driver's library answers: GPUs are sampled during its cells and judged in its report."""

import json
from pathlib import Path

import pytest

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import WITH_PACED_ENGINE, good_exit, run_of, tool
from tests.hardware.fake_nvml import compile_nvml


def test_cells_hold_samples_of_the_arms_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library always says: 71.5 W of 72, 1530 of 2040 MHz, held down by the power limit."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(compile_nvml(tmp_path).parent))
    study = write_study(tmp_path, {"slow": {"token_ms": 100}}, loads=[1], repeats=2)
    with tool(tmp_path, "run", study, program=WITH_PACED_ENGINE) as running:
        code = running.wait()
        assert code == good_exit(run_of(tmp_path)), running.stderr
        assert running.leaves_nothing_behind()
    run = run_of(tmp_path)
    summary = json.loads((run.folder / "summary.json").read_text())
    (finding,) = [each for each in summary["findings"] if each["code"] == "gpu_throttled"]

    assert (run.folder / "telemetry.parquet").exists()
    assert not (run.folder / "telemetry").exists()
    assert set(run.telemetry["cell"].to_pylist()) == {0, 1}
    assert set(run.telemetry["gpu"].to_pylist()) == {0}
    for cell in summary["cells"]:
        assert cell["gpu"]["samples"] >= 1
        assert (cell["gpu"]["mean_power_w"], cell["gpu"]["sm_clock_share"]) == (71.5, 0.75)
    assert finding["evidence"][0] == "cells 0 to 1"
    assert not any("meter" in note for cell in run.cells for note in cell.notes)
