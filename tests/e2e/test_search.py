"""A study that finds its loads: within its budget, gone on with after a kill, on one GPU or several."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.paced_engine import plug_in, write_study
from tests.e2e.tool import good_exit, run_of, states, tool
from whichbits.cli import exit_code
from whichbits.record.manifest import write_manifest
from whichbits.record.run import Run
from whichbits.record.schema import SearchRecord
from whichbits.study.search import budget_words

QUICK_ALONE = {"token_ms": 10, "stream_ms": 6}
QUICK_TOGETHER = {"token_ms": 22, "stream_ms": 1}
"""Median TPOT: 10 + 6 (x - 1) and 22 + (x - 1) ms, which cross at 3.4."""


def write(folder: Path, arms: dict[str, dict[str, Any]] | None = None, **changes: Any) -> Path:
    searches = "loads" not in changes or changes.get("repeats") == "auto"
    plain = {"loads": {"auto": {"from": 1, "to": 9}}, "cell": {"requests": 9}}
    plain |= {"budget": "90s", "precision": 0.9} if searches else {}
    return write_study(folder, arms or {"alone": QUICK_ALONE, "together": QUICK_TOGETHER}, **(plain | changes))


@dataclass(frozen=True)
class Outcome:
    """What a run of the tool within this process gave."""

    code: int
    said: str
    run: Run


Tool = Callable[[Path], Outcome]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Run a study, or go on with a run folder."""
    plug_in(monkeypatch)

    def run(path: Path) -> Outcome:
        code = exit_code(["run", str(path), "--plain"])
        return Outcome(code, " ".join(capsys.readouterr().err.split()), run_of(tmp_path))

    return run


def search_of(run: Run) -> SearchRecord:
    assert run.manifest.search is not None
    return run.manifest.search


def findings(run: Run) -> dict[str, Any]:
    return {each["code"]: each for each in json.loads((run.folder / "summary.json").read_text())["findings"]}


def assert_paired(run: Run) -> None:
    """In every step, each arm met each load once, with the same prompts as the others."""
    places = [(cell.arm, cell.concurrency, cell.repeat) for cell in run.cells]
    assert len(set(places)) == len(places)
    for step in search_of(run).steps:
        mine = [cell for cell in run.cells if cell.cell in step.cells]
        assert {cell.block for cell in mine} == {step.block}
        for load in {cell.concurrency for cell in mine}:
            assert len({cell.repeat for cell in mine if cell.concurrency == load}) == 1


@pytest.mark.parametrize("together", [True, False])
def test_it_sweeps_narrows_and_says_what_each_step_bought(tmp_path: Path, measure: Tool, together: bool) -> None:
    found = measure(write(tmp_path, arms_together=together))
    run = found.run

    assert found.code == good_exit(run), found.said
    assert set(states(run)) == {"done"}
    assert not run.interrupted
    assert_paired(run)
    search = search_of(run)
    assert search.ended
    assert 0 < search.spent_s <= 90 + 15
    assert search.enough_s is None
    assert found.said.count("starts and warm-up took") == 1
    assert {cell.concurrency for cell in run.cells} >= {1, 3, 9}
    assert all(step.bought for step in search.steps)
    if found.code == 0:  # cells that a busy machine's client limited decide nothing
        assert "placed the crossing of alone / together in median TPOT within" in found.said
    for step in search.steps:
        (note,) = {note for cell in run.cells if cell.cell in step.cells for note in cell.notes if "it bought" in note}
        assert note == f"{step.purpose}; it bought: {step.bought}"
    # On a busy machine several steps may have sought and bought the same: those stand once.
    assert len(findings(run)["search"]["evidence"]) == len({(step.purpose, step.bought) for step in search.steps})
    starts = found.said.count(": starting")
    assert starts == 2 if together else starts >= 2


def test_a_search_that_was_killed_goes_on_with_what_is_there(tmp_path: Path, measure: Tool) -> None:
    with tool(tmp_path, "run", write(tmp_path, arms_together=True), "--plain") as running:
        running.wait_for("together c3  started")
        running.kill()
        assert running.leaves_nothing_behind()
    before = run_of(tmp_path)
    kept = {cell.cell: before.records(cell.cell) for cell in before.cells if cell.state == "done"}
    assert kept
    assert search_of(before).ended is None

    resumed = measure(before.folder)
    run = resumed.run
    assert resumed.code == good_exit(run), resumed.said
    assert set(states(run)) == {"done"}
    assert_paired(run)
    assert {number: run.records(number) for number in kept} == kept
    assert search_of(run).spent_s > sum((c.finished_ns or 0) - (c.started_ns or 0) for c in before.cells) / 1e9
    assert "Nothing is left to do" in measure(run.folder).said


def test_a_kill_between_the_last_cell_and_what_it_bought_loses_nothing(tmp_path: Path, measure: Tool) -> None:
    whole = measure(write(tmp_path, arms_together=True)).run
    search = search_of(whole)
    unsaid = replace(search, steps=(*search.steps[:-1], replace(search.steps[-1], bought=None)), ended=None)
    write_manifest(whole.folder, replace(whole.manifest, search=unsaid))
    resumed = measure(whole.folder).run

    assert search_of(resumed).steps[: len(search.steps) - 1] == search.steps[:-1]
    assert search_of(resumed).steps[len(search.steps) - 1].bought is not None
    assert search_of(resumed).ended


def test_ctrl_c_in_a_search_keeps_what_is_finished(tmp_path: Path) -> None:
    with tool(tmp_path, "run", write(tmp_path), "--plain") as running:
        running.wait_for("alone c3  started")
        running.press_ctrl_c()
        assert running.wait() == 130
        assert running.leaves_nothing_behind()

    run = run_of(tmp_path)
    assert run.interrupted
    assert states(run)[0] == "done"
    assert "it is not at its end" in findings(run)["search"]["text"]


def test_a_budget_that_is_spent_ends_the_search(tmp_path: Path, measure: Tool) -> None:
    study = write(tmp_path, arms_together=True, budget=0.5, precision=0.01)
    found = measure(study)
    run = found.run

    assert found.code == good_exit(run), found.said
    search = search_of(run)
    assert search.ended == "the budget is spent"
    assert [cell.concurrency for cell in run.cells] == [1, 1]
    assert search.enough_s is not None
    assert search.enough_s > search.spent_s > 0.5
    assert "0 s are left" in found.said
    assert f"`budget: {budget_words(search.enough_s)}` or more" in found.said
    finding = findings(run)["search"]
    assert f"`budget: {budget_words(search.enough_s)}` or more" in finding["settled_by"]


def test_repeats_go_on_until_they_need_not(tmp_path: Path, measure: Tool) -> None:
    study = write(tmp_path, loads=[1, 9], repeats="auto", arms_together=True, budget="8s", precision=0.9)
    found = measure(study)
    run = found.run

    assert found.code == good_exit(run), found.said
    assert search_of(run).ended
    assert {cell.concurrency for cell in run.cells} == {1, 9}
    assert [len(step.cells) for step in search_of(run).steps] == [4] * len(search_of(run).steps)
    assert {cell.repeat for cell in run.cells} == set(range(len(search_of(run).steps)))


@pytest.mark.parametrize("together", [True, False])
def test_an_arm_whose_server_dies_leaves_the_search_to_the_others(
    tmp_path: Path, measure: Tool, together: bool
) -> None:
    arms = {"dies": QUICK_ALONE | {"dies_at": 6}, "lives": QUICK_TOGETHER}
    found = measure(write(tmp_path, arms, arms_together=together))

    assert found.code == 3
    lived = {cell.concurrency for cell in found.run.cells if cell.arm == "lives" and cell.state == "done"}
    assert lived == {1, 3, 9}
    assert len([cell for cell in found.run.cells if cell.arm == "dies"]) == 1
    assert search_of(found.run).ended


def test_arms_that_sleep_are_awake_one_at_a_time(tmp_path: Path, measure: Tool) -> None:
    study = write(tmp_path, loads=[1, 3], arms_together="sleep")
    found = measure(study)
    run = found.run

    assert found.code == good_exit(run), found.said
    assert [cell.arm for cell in run.cells] == ["alone", "together", "together", "alone"]
    assert not any(cell.failed for cell in run.cells)
    logs = {arm: (run.folder / "logs" / f"{arm}-0.log").read_text().split() for arm in ("alone", "together")}
    assert logs == {"alone": ["asleep", "awake", "asleep", "awake"], "together": ["asleep", "awake", "asleep"]}
    woken = [bool(cell.notes and "its pace is" in cell.notes[0]) for cell in run.cells]
    assert woken == [True, True, False, True]


def test_a_server_that_does_not_sleep_costs_its_own_cells_only(tmp_path: Path, measure: Tool) -> None:
    arms = {"restless": QUICK_ALONE | {"sleepless": True}, "sleeper": QUICK_TOGETHER}
    found = measure(write(tmp_path, arms, loads=[1], arms_together="sleep"))

    assert found.code == 3
    assert "sleep_refused" in found.said
    assert {cell.arm: cell.state for cell in found.run.cells} == {"restless": "skipped", "sleeper": "done"}


def test_engines_without_sleep_are_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tmp_path, every_arm={"engine": "embedded", "model": "smollm2-135m-instruct"}, arms_together="sleep")

    assert exit_code(["run", str(study)]) == 2
    assert "engine_cannot_sleep" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
