"""However a study is stopped, no server outlives it, what was finished is kept, and it can be gone on with."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import Tool, eventually, good_exit, run_of, states, tool
from whichbits.analyze.summarize import summarize
from whichbits.record.run import Run

OPTIONS = {"starting": {"hangs": True}, "warming up": {"mute": True}}


def stalling_study(folder: Path) -> Path:
    """A study whose second cell stalls after half of its requests, until ``open_gate``."""
    return write_study(folder, {"first": {"stalls_at": 11, "gate": str(folder / "gate")}, "second": {}})


def open_gate(folder: Path) -> None:
    (folder / "gate").touch()


def wait_for_the_stall(running: Tool) -> None:
    running.wait_for("first c2  started")


def assert_complete(run: Run) -> None:
    """Each cell was measured once, one after the other."""
    assert states(run) == ["done"] * 4
    assert not run.interrupted
    assert [run.of_cell(cell.cell).num_rows for cell in run.cells] == [4] * 4
    ends = [(cell.started_ns, cell.finished_ns) for cell in run.cells]
    assert all(before[1] < after[0] for before, after in pairwise(ends) if before[1] and after[0])
    assert None not in [time for times in ends for time in times]


@pytest.mark.parametrize("phase", OPTIONS)
def test_ctrl_c_before_any_cell(tmp_path: Path, phase: str) -> None:
    study = write_study(tmp_path, {"first": OPTIONS[phase], "second": {}})
    with tool(tmp_path, "run", study) as running:
        running.wait_for(f"first: {phase}")
        eventually(lambda: len(running.processes()) >= 3)  # the tool, the leash and the server
        running.press_ctrl_c()

        assert running.wait() == 130
        assert running.leaves_nothing_behind()
    run = run_of(tmp_path)
    assert run.interrupted
    assert states(run) == ["planned"] * 4
    assert (run.folder / "report.md").exists()


def test_ctrl_c_in_a_cell_keeps_what_is_finished_and_the_run_can_be_gone_on_with(tmp_path: Path) -> None:
    with tool(tmp_path, "run", stalling_study(tmp_path)) as running:
        wait_for_the_stall(running)
        running.press_ctrl_c()

        assert running.wait() == 130
        assert running.leaves_nothing_behind()
    run = run_of(tmp_path)
    assert states(run) == ["done", "interrupted", "planned", "planned"]
    assert run.of_cell(0).num_rows == 4
    assert set(run.of_cell(1)["error_code"].to_pylist()) <= {None, "cancelled"}
    assert [cell.failed for cell in run.cells] == [0, 0, None, None]
    assert [cell.failed for cell in summarize(run).cells[:2]] == [0, 0]
    assert not re.search(r"\d failed", running.stderr)
    assert run.interrupted
    assert {"summary.json", "report.md", "report.html"} <= {path.name for path in run.folder.iterdir()}

    open_gate(tmp_path)
    finished_before = run.records(0)
    with tool(tmp_path, "run", run.folder) as resumed:
        assert resumed.wait() == good_exit(run_of(tmp_path))
        assert resumed.leaves_nothing_behind()
    assert_complete(run_of(tmp_path))
    assert run_of(tmp_path).records(0) == finished_before
    assert "3 cells left" in run_of(tmp_path).manifest.notes[0]


def test_an_impatient_user_costs_nothing(tmp_path: Path) -> None:
    with tool(tmp_path, "run", stalling_study(tmp_path)) as running:
        wait_for_the_stall(running)
        running.press_ctrl_c()
        eventually(lambda: _pressed_until(running, "Interrupted: "))

        assert running.wait() == 130
        assert "Traceback" not in running.stderr
        assert running.leaves_nothing_behind()
    assert states(run_of(tmp_path)) == ["done", "interrupted", "planned", "planned"]
    assert (run_of(tmp_path).folder / "report.html").exists()


def _pressed_until(running: Tool, text: str) -> bool:
    running.press_ctrl_c()
    return text in running.stdout or running.returncode is not None


def test_kill_9_in_a_cell_leaves_no_server_and_a_run_that_can_be_gone_on_with(tmp_path: Path) -> None:
    with tool(tmp_path, "run", stalling_study(tmp_path)) as running:
        wait_for_the_stall(running)
        assert len(running.processes()) >= 3
        running.kill()

        assert running.leaves_nothing_behind()
    run = run_of(tmp_path)
    assert states(run) == ["done", "planned", "planned", "planned"]
    assert run.interrupted

    open_gate(tmp_path)
    with tool(tmp_path, "run", "--resume", run.folder) as resumed:
        assert resumed.wait() == good_exit(run_of(tmp_path))
    assert_complete(run_of(tmp_path))
