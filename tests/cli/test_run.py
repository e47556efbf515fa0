"""What the command line promises before anything is started, and for a run that it goes on with."""

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.paced_engine import PacedEngine, plug_in, write_study
from tests.e2e.tool import good_exit, run_of
from tests.record.make_run import make_run, manifest
from whichbits.cli import exit_code
from whichbits.cli.run import origin_ns
from whichbits.record.manifest import read_manifest, write_manifest
from whichbits.record.schema import Cell


@pytest.fixture(autouse=True)
def paced(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return what the tool says on refusing its input; nothing of it on stdout."""
    assert exit_code([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    return " ".join(said.err.split())


def test_a_dry_run_prints_the_plan_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write_study(tmp_path, {"good": {}, "crashes": {"dies": True}}, repeats=2)

    assert exit_code(["run", str(study), "--dry-run"]) == 0
    plan = capsys.readouterr().out
    assert "2 arms, 8 cells, 4 server starts" in plan
    assert "About " in plan
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"repeets": 2}, "study_invalid", "did you mean 'repeats'?"),
        ({"every_arm": {"engine": "pased", "model": "any"}}, "unknown_engine", "did you mean 'paced'?"),
        ({"every_arm": {"engine": "paced", "model": "missing"}}, "paced_model_unknown", "no model 'missing'"),
        ({"output": "/proc/nowhere"}, "output_unwritable", "/proc/nowhere"),
    ],
)
def test_a_study_that_cannot_run_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], code: str, said: str
) -> None:
    text = refusal(capsys, "run", write_study(tmp_path, {"only": {}}, **changes), "--plain")

    assert code in text
    assert said in text
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("dry", [True, False])
def test_arms_are_checked_before_the_plan_and_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, dry: bool
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    paced = {"weight_format": "fp16", "engine": "paced", "model": "any"}
    running = {"weight_format": "fp16", "engine": "openai", "model": "any"}
    arms = {
        "api_key_missing": running | {"target": {"urls": "http://127.0.0.1:9", "api_key_variable": "NO_SUCH_KEY"}},
        "log_unreadable": running | {"target": {"urls": "http://127.0.0.1:9", "logs": str(tmp_path / "none.log")}},
        "engine_only_attached": running,
        "embedded_model_unknown": paced | {"engine": "embedded"},
        "embedded_format": paced | {"engine": "embedded", "weight_format": "bf16"},
        "vllm_python": paced | {"engine": "vllm", "python": "/no/python"},
        "vllm_model_missing": paced | {"engine": "vllm", "model": "./nowhere"},
    }
    study = write_study(tmp_path, {"good": {}})
    plain = json.loads(study.read_text())
    for code, wrong in arms.items():
        study.write_text(json.dumps(plain | {"arms": {"good": paced, "wrong": wrong}}))
        said = refusal(capsys, "run", study, "--plain", *(["--dry-run"] if dry else []))
        assert code in said
        assert "wrong: " in said
    assert not (tmp_path / "runs").exists()


def test_files_that_contradict_an_arm_stop_it_before_it_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path, {"only": {}}, every_arm={"engine": "paced", "model": "wide"})

    assert exit_code(["run", str(study), "--plain"]) == 7
    assert "arm 'only' is not what it claims to be: its files are wide" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_before_anything_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press_ctrl_c(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(PacedEngine, "prepare", press_ctrl_c)

    assert exit_code(["run", str(write_study(tmp_path, {"only": {}})), "--plain"]) == 130
    assert not (tmp_path / "runs").exists()


def test_flags_and_files_that_do_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--dry-rum" in refusal(capsys, "run", "--dry-rum")
    assert "study_unreadable" in refusal(capsys, "run", tmp_path / "none.yaml")
    assert "run_not_found" in refusal(capsys, "run", "--resume", tmp_path)
    assert "run_not_found" in refusal(capsys, "report", tmp_path)


def test_a_report_in_korean_or_in_no_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path)

    assert exit_code(["report", str(folder), "--lang", "ko"]) == 0
    assert "에 저장했습니다" in capsys.readouterr().out
    assert '<html lang="ko">' in (folder / "report.html").read_text(encoding="utf-8")
    assert "--lang" in refusal(capsys, "report", folder, "--lang", "tlh")


def test_the_machines_language_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    folder = make_run(tmp_path)

    assert exit_code(["report", str(folder)]) == 0
    assert "Wrote" in capsys.readouterr().out
    assert '<html lang="en">' in (folder / "report.html").read_text(encoding="utf-8")


def test_a_study_and_a_run_to_resume_are_one_too_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write_study(tmp_path, {"only": {}})

    assert "two_tasks" in refusal(capsys, "run", study, "--resume", tmp_path)


def test_a_run_without_a_study_cannot_be_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "run_not_resumable" in refusal(capsys, "run", "--resume", make_run(tmp_path))


def test_a_finished_run_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", str(write_study(tmp_path, {"only": {}})), "--plain"]) == good_exit(run_of(tmp_path))
    capsys.readouterr()
    run = run_of(tmp_path)
    before = contents(run.folder)

    assert exit_code(["run", str(run.folder), "--json"]) == good_exit(run)
    said = capsys.readouterr()
    assert "Nothing is left to do" in said.err
    assert json.loads(said.out)["run"] == run.folder.name
    assert contents(run.folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_secret_is_not_written_down_and_is_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = {"engine": "paced", "model": "any", "environment": {"HF_TOKEN": "hf-secret"}}
    study = write_study(tmp_path, {"only": {}}, every_arm=defaults)
    assert exit_code(["run", str(study), "--plain"]) == good_exit(run_of(tmp_path))
    capsys.readouterr()
    folder = run_of(tmp_path).folder
    assert not [name for name, content in contents(folder).items() if b"hf-secret" in content]
    forget_the_last_cell(folder)

    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert "secret_missing" in refusal(capsys, "run", folder)
    monkeypatch.setenv("HF_TOKEN", "hf-secret")
    assert exit_code(["run", str(folder), "--plain"]) == good_exit(run_of(tmp_path))


@pytest.mark.parametrize("clock_s", [50, -3600])
def test_times_go_on_after_a_restart_and_a_clock_set_back(monkeypatch: pytest.MonkeyPatch, clock_s: int) -> None:
    """A machine that was started anew counts its monotonic time from 0."""
    begun = manifest(cells=[Cell(0, "a", 1, None, 0, finished_ns=40 * 10**9)])
    monkeypatch.setattr(time, "time_ns", lambda: begun.origin_unix_ns + clock_s * 10**9)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 3 * 10**9)

    assert time.monotonic_ns() - origin_ns(begun) == max(clock_s, 40) * 10**9


def forget_the_last_cell(folder: Path) -> None:
    recorded = read_manifest(folder)
    *done, last = recorded.cells
    write_manifest(folder, replace(recorded, cells=(*done, replace(last, state="planned"))))
