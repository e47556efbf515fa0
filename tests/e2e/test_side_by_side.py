"""Arms that are up together start at once where none measures what is free, and one after the other where one does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.paced_engine import plug_in, write_study
from tests.e2e.tool import good_exit, run_of, states
from whichbits.cli import exit_code

AT_ONCE = {"every_arm": {"engine": "paced", "model": "any", "kv_cache_gib": 1}}
MOCKS = {"every_arm": {"engine": "mock", "model": "any"}}


@pytest.fixture(autouse=True)
def paced(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch)


def run(folder: Path, arms: dict[str, dict[str, Any]], **changes: Any) -> int:
    return exit_code(["run", str(write_study(folder, arms, arms_together=True, **changes)), "--plain"])


def course(said: str) -> list[str]:
    """What became of which arm, in its order; what it says of itself is cut."""
    words = ("starting", "ready", "warming")
    lines = [line.partition("] ")[2].split(": ", 1) for line in said.splitlines() if ": " in line]
    return [f"{line[0]} {line[1].split()[0]}" for line in lines if line[-1].startswith(words)]


@pytest.mark.parametrize("engine", [AT_ONCE, MOCKS])
def test_they_start_at_once_and_are_warmed_when_all_are_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: dict[str, Any]
) -> None:
    options: dict[str, Any] = {"itl_ms": 5} if engine is MOCKS else {}
    code = run(tmp_path, {"one": options, "two": options}, **engine)
    seen = course(capsys.readouterr().err)
    found = run_of(tmp_path)

    assert code == good_exit(found)
    assert seen[:2] == ["one starting", "two starting"]
    assert sorted(seen[2:4]) == ["one ready", "two ready"]
    assert seen[4:] == ["one warming", "two warming"]
    assert states(found) == ["done"] * 4
    started = json.loads((found.folder / "summary.json").read_text())["arms"]
    assert [started[arm]["facts"]["started_beside"] for arm in ("one", "two")] == [1, 1]
    assert [started[arm]["cold_start"]["beside"] for arm in ("one", "two")] == [1, 1]


def test_one_that_measures_free_memory_starts_with_nobody_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(tmp_path, {"one": {}, "two": {}})
    seen = course(capsys.readouterr().err)
    found = run_of(tmp_path)

    assert code == good_exit(found)
    assert seen == [f"{arm} {what}" for arm in ("one", "two") for what in ("starting", "ready", "warming")]
    assert all("started_beside" not in arm.replicas[0].facts for arm in found.manifest.arms.values())


def test_one_that_dies_while_all_start_costs_its_own_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(tmp_path, {"bad": {"dies": True}, "good": {}}, **AT_ONCE)
    found = run_of(tmp_path)

    assert code == 3
    assert "bad: the server ended with exit code 7" in capsys.readouterr().err
    assert {cell.arm: cell.state for cell in found.cells} == {"bad": "skipped", "good": "done"}


def test_one_that_is_not_what_it_claims_ends_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write_study(tmp_path, {"wrong": {}, "right": {}}, arms_together=True, **AT_ONCE)
    written = json.loads(study.read_text())
    written["arms"]["wrong"]["weight_format"] = "w4a16"
    study.write_text(json.dumps(written))

    code = exit_code(["run", str(study), "--plain"])

    assert code == 7
    assert "16 bits were loaded" in capsys.readouterr().err
    assert states(run_of(tmp_path)).count("done") == 0


def test_replicas_that_share_a_card_do_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = {"every_arm": {"engine": "paced", "model": "any", "kv_cache_gib": 1, "replicas": 2, "gpus": [0]}}
    code = exit_code(["run", str(write_study(tmp_path, {"one": {}}, **two)), "--plain"])
    found = run_of(tmp_path)

    assert code == good_exit(found), capsys.readouterr().err
    assert [each.facts["started_beside"].value for each in found.manifest.arms["one"].replicas] == [1, 1]
