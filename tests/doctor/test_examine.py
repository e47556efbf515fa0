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
from whichbits.hardware.gpu_states import Cards, look_at_cards

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
    monkeypatch.setattr("whichbits.doctor.examine.look_at_cards", Cards)
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


def test_an_interpreter_that_hangs_is_asked_once_and_keeps_nothing_else_from_being_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("whichbits.doctor.interpreter._SECONDS", 0.2)
    python, asked = tmp_path / "python", tmp_path / "asked"
    python.write_text(f"#!/bin/sh\necho >> {asked}\nexec sleep 60\n")
    python.chmod(0o755)
    study = study_of(tmp_path, python)
    study.write_text(
        study.read_text().replace("arms: {a: ", "arms: {b: {weight_format: fp16, engine: mock, model: m}, a: ")
    )

    assert exit_code(["doctor", str(study), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)["diagnoses"]
    assert [each["subject"] for each in told if each["code"] == "python_silent"] == ["arm a"]
    assert "tokenizer_missing" in {each["code"] for each in told}
    assert asked.read_text().count("\n") == 1
    assert exit_code(["doctor", "--python", str(python)]) == 2
    assert "python_silent" in capsys.readouterr().err


def test_an_nvidia_smi_that_hangs_is_told_with_what_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hanging = tmp_path / "hanging"
    hanging.mkdir()
    (hanging / "nvidia-smi").write_text(f"#!/bin/sh\necho >> {tmp_path}/asked\nexec sleep 60\n")
    (hanging / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(hanging), prepend=":")
    monkeypatch.setattr("whichbits.doctor.examine.look_at_cards", lambda: look_at_cards(0.2))
    study = study_of(tmp_path, interpreter(tmp_path / "env", {"vllm": Package(NEW)}))

    assert exit_code(["doctor", str(study), "--no-imports", "--json"]) == 3
    told = {each["code"]: each for each in json.loads(capsys.readouterr().out)["diagnoses"]}
    assert told["nvidia_smi_silent"]["state"] == "problem"
    assert "cards, their state, driver and users are not known" in told["nvidia_smi_silent"]["found"]
    assert "no_gpu" not in told
    assert (tmp_path / "asked").read_text().count("\n") == 1


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
