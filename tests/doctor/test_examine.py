"""The whole examination, and the part of it that a run says before it starts."""

import json
import platform
import sys
from pathlib import Path

import pytest

from tests.doctor.models import qwen
from tests.doctor.pretend import Package, interpreter
from whichbits.cli import exit_code
from whichbits.doctor.interpreter import ask_interpreter

NEW = "0.27.1"


def study_of(tmp_path: Path, python: Path) -> Path:
    model = qwen(tmp_path / "model")["model"]
    (tmp_path / "model/tokenizer.json").unlink()
    file = tmp_path / "s.yaml"
    arm = f"{{weight_format: bf16, engine: vllm, model: {model}, load_format: dummy, python: {python}}}"
    file.write_text(f"name: s\narms: {{a: {arm}}}\ntraffic: {{kind: chat}}\nloads: [1]\n")
    return file


@pytest.mark.parametrize(("busy", "said_so"), [(0.0, False), (100.0, True)])
def test_a_run_says_before_it_starts_that_something_else_computes_here(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    busy: float,
    said_so: bool,
) -> None:
    monkeypatch.setattr("psutil.cpu_percent", lambda interval: busy)
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\narms: {a: {weight_format: fp16, engine: mock, model: m}}\ntraffic: {kind: chat}\nloads: [1]\n"
    )

    assert exit_code(["run", str(file), "--dry-run"]) == 0
    assert ("processors_busy" in capsys.readouterr().err) is said_so


def test_an_arm_that_needs_a_card_has_a_problem_without_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("whichbits.doctor.examine.gpu_states", tuple)
    study = study_of(tmp_path, interpreter(tmp_path / "env", {}))

    assert exit_code(["doctor", str(study), "--no-imports", "--json"]) == 3
    told = {each["code"]: each["state"] for each in json.loads(capsys.readouterr().out)["diagnoses"]}
    assert told["no_gpu"] == "problem"


def test_a_run_says_what_is_wrong_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psutil.cpu_percent", lambda interval: 0.0)
    vllm = Package(NEW, requires=("torchvision==0.28.0",))
    study = study_of(tmp_path, interpreter(tmp_path / "env", {"vllm": vllm}))

    assert exit_code(["run", str(study), "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "tokenizer_missing" in said
    assert "requirement_missing" in said
    assert "note " not in said


def test_the_doctor_says_the_same_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of(tmp_path, interpreter(tmp_path / "env", {"vllm": Package(NEW)}))

    assert exit_code(["doctor", str(study), "--no-imports"]) == 3
    assert "tokenizer_missing" in capsys.readouterr().out


def test_an_interpreter_that_does_not_run_keeps_nothing_else_from_being_examined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = study_of(tmp_path, tmp_path / "no-such-python")

    assert exit_code(["doctor", str(study)]) == 3
    said = capsys.readouterr().out
    assert "vllm_python" in said
    assert "tokenizer_missing" in said


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/true"])
def test_an_interpreter_that_is_named_must_run(python: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["doctor", "--python", python]) == 2
    assert "doctor_python" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["null", "[]", "{}", '{"version": 3, "distributions": {"a": 1}}', "\\377", ""])
def test_an_answer_that_no_python_gives_is_told_as_such(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nprintf '{said}'\n")
    python.chmod(0o755)

    assert exit_code(["doctor", "--python", str(python)]) == 2
    assert "it does not answer as a Python does" in " ".join(capsys.readouterr().err.split())


def test_what_an_interpreter_prints_at_its_start_is_passed_by(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho Welcome to this cluster\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)

    assert ask_interpreter(str(python)).version == platform.python_version()


def test_a_study_without_a_card_in_it_hears_nothing_of_cards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\narms: {a: {weight_format: fp16, engine: mock, model: m}}\ntraffic: {kind: chat}\nloads: [1]\n"
    )

    assert exit_code(["doctor", str(file)]) == 0
    assert "no arm of the study needs one" in capsys.readouterr().out
    assert exit_code(["run", str(file), "--dry-run"]) == 0
    assert "problem" not in capsys.readouterr().err
