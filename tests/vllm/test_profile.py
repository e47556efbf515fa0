"""A real vLLM is profiled in traffic of its own. On a processor a trace holds operations, no kernels."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.tool import AS_INSTALLED, run_of, states, tool
from tests.vllm.studies import arm, write_study

pytestmark = pytest.mark.vllm


def test_a_window_is_taken_outside_the_measured_cells(tmp_path: Path, vllm_python: Path, model: Path) -> None:
    changes = {"loads": [{"concurrency": 2}, {"concurrency": 4}], "profile": {"loads": [4], "seconds": 1}}
    study = write_study(tmp_path, {"bf16": arm(vllm_python, model)}, **changes)
    began = time.monotonic()
    with tool(tmp_path, "run", study, program=AS_INSTALLED) as running:
        assert running.wait() in (0, 6), running.stderr
    took_ms = 1000 * (time.monotonic() - began)
    run = run_of(tmp_path)
    summary: dict[str, Any] = json.loads((run.folder / "summary.json").read_text())
    (profile,) = summary["profiles"]
    found = profile["kernel_time"]
    times = {kind["kind"]: kind["ms"] for kind in found["kinds"]}

    assert states(run) == ["done", "done"]
    assert (profile["arm"], profile["concurrency"], profile["notes"]) == ("bf16", 4, [])
    assert [(run.folder / trace).exists() for trace in profile["traces"]] == [True]
    assert (found["basis"], found["cut_off"]) == ("operations", False)
    assert 500 < found["window_ms"] < took_ms
    assert times["gemm"] > 0
    assert times["attention"] > 0
    assert sum(times.values()) + found["gaps"]["ms"] == pytest.approx(found["window_ms"], rel=0.01)
    assert "kernel_time" in {finding["code"] for finding in summary["findings"]}
