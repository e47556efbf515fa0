"""What fails costs its own cells only, is told with its cause, and decides the exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.recompute import check_summary
from tests.e2e.paced_engine import plug_in, write_study
from tests.e2e.tool import good_exit, run_of, states, tool
from whichbits.cli import exit_code


@pytest.fixture
def paced(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch)


def test_a_server_that_crashes_while_loading(tmp_path: Path) -> None:
    with tool(tmp_path, "run", write_study(tmp_path, {"bad": {"dies": True}, "good": {}})) as running:
        assert running.wait() == 3
        assert running.leaves_nothing_behind()

        when_it_happens, _, at_the_end = running.stderr.partition("done\n")
        for told in (when_it_happens, at_the_end):
            assert "bad: the server ended with exit code 7" in told
            assert "RuntimeError: the weights are torn" in told
    run = run_of(tmp_path)
    assert states(run) == ["skipped", "skipped", "done", "done"]
    assert "RuntimeError: the weights are torn" in run.cells[0].notes[0]
    assert (run.folder / "report.html").exists()


def test_a_server_that_hangs_while_loading(tmp_path: Path) -> None:
    study = write_study(tmp_path, {"bad": {"hangs": True}}, limits={"ready_seconds": 1})
    with tool(tmp_path, "run", study) as running:
        assert running.wait() == 3
        assert running.leaves_nothing_behind()

        assert "bad: the server was not ready within 1 s" in running.stderr
    assert states(run_of(tmp_path)) == ["skipped"] * 2


def test_a_server_that_dies_in_mid_cell(tmp_path: Path) -> None:
    """Its second cell begins after 4 warm-up requests and 4 of the first cell."""
    study = write_study(tmp_path, {"bad": {"dies_at": 11}, "good": {}}, loads=[1, 2, 3])
    with tool(tmp_path, "run", study) as running:
        assert running.wait() == 3
        assert running.leaves_nothing_behind()

        assert "bad: the server ended with exit code 9 while it was serving" in running.stderr
        assert "RuntimeError: the card fell off the bus" in running.stderr
    run = run_of(tmp_path)
    assert states(run) == ["done", "interrupted", "skipped", "done", "done", "done"]
    cut_short = run.cells[1]
    assert cut_short.failed
    assert len(run.records(cut_short.cell)) == cut_short.requests == 4
    assert "the card fell off the bus" in cut_short.notes[0]


def test_arms_that_are_up_together_fail_for_themselves(tmp_path: Path) -> None:
    """One is never ready, one dies in its first cell, one serves all of its cells; each has its own load's turn."""
    arms: dict[str, dict[str, Any]] = {"stillborn": {"dies": True}, "bad": {"dies_at": 7}, "good": {}}
    study = write_study(tmp_path, arms, loads=[1, 2], arms_together=True)
    with tool(tmp_path, "run", study) as running:
        assert running.wait() == 3
        assert running.leaves_nothing_behind()
    run = run_of(tmp_path)
    assert [cell.arm for cell in run.cells] == [*arms, *reversed(arms)]
    assert states(run) == ["skipped", "interrupted", "done", "done", "skipped", "skipped"]


@pytest.mark.usefixtures("paced")
def test_failed_requests_beyond_the_limit(tmp_path: Path) -> None:
    study = write_study(tmp_path, {"good": {}, "bad": {"refuses_at": 9}}, limits={"failed_share": 0.1})

    assert exit_code(["run", str(study), "--plain"]) == 4
    assert states(run_of(tmp_path)) == ["done"] * 4


@pytest.mark.usefixtures("paced")
def test_an_arm_that_is_not_what_it_claims_ends_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write_study(tmp_path, {"good": {}, "liar": {}, "late": {}})
    claim_4_bits(study, "liar")

    assert exit_code(["run", str(study), "--plain"]) == 7
    assert states(run_of(tmp_path)) == ["done", "done", "skipped", "skipped", "planned", "planned"]
    assert "16 bits were loaded" in capsys.readouterr().err
    assert (run_of(tmp_path).folder / "report.md").exists()


def claim_4_bits(study: Path, arm: str) -> None:
    asked = json.loads(study.read_text())
    asked["arms"][arm]["weight_format"] = "w4a16"
    study.write_text(json.dumps(asked))


@pytest.mark.usefixtures("paced")
@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"cache": "reset"}, "reset"),
        ({"cache": "restart"}, "restarted"),
        ({"cache": "warm"}, "primed"),
        ({"loads": [{"request_rate": 50}], "traffic": {"kind": "random", "output_tokens": 1}}, "salted"),
    ],
)
def test_every_policy_and_loop_runs_to_its_end(tmp_path: Path, changes: dict[str, Any], state: str) -> None:
    study = write_study(tmp_path, {"only": {}}, **changes)

    assert exit_code(["run", str(study), "--plain"]) == good_exit(run_of(tmp_path))
    assert {(cell.state, cell.cache_state) for cell in run_of(tmp_path).cells} == {("done", state)}
    assert check_summary(run_of(tmp_path).folder) > 0
    assert "books_disagree" not in (run_of(tmp_path).folder / "summary.json").read_text()
