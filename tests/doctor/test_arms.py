"""Arms of a study, looked at before anything starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from whichbits.cli import exit_code
from whichbits.doctor.arms import check_arms, check_targets
from whichbits.doctor.diagnosis import Patient
from whichbits.doctor.examine import examine
from whichbits.study.model import Study

NOBODY_LISTENS = "http://127.0.0.1:9"


def study(arm: dict[str, Any], **keys: Any) -> Study:
    return Study.model_validate({"name": "s", "arms": {"a": arm}, "traffic": {"kind": "chat"}, "loads": [1], **keys})


def test_an_arm_that_its_engine_refuses() -> None:
    found = list(
        check_arms(Patient((), study({"weight_format": "w4a8-int8", "model": "no-such", "engine": "embedded"})))
    )
    assert [(each.subject, each.state) for each in found] == [("arm a", "problem")]
    assert found[0].fix


def test_an_arm_that_its_engine_takes() -> None:
    found = list(check_arms(Patient((), study({"weight_format": "w4a16", "model": "m", "engine": "mock"}))))
    assert [(each.code, each.state) for each in found] == [("arm", "good")]


def test_a_server_that_runs_no_more() -> None:
    arm = {"weight_format": "bf16", "model": "m", "engine": "openai", "target": {"urls": [NOBODY_LISTENS]}}
    assert [(each.code, each.state) for each in check_targets(Patient((), study(arm)))] == [("target_dead", "problem")]


def test_a_check_that_breaks_keeps_no_other_from_speaking(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Patient) -> list[Any]:
        raise RuntimeError("no such file as /proc")

    monkeypatch.setattr("whichbits.doctor.examine.check_machine", broken)
    found = {each.code: each for each in examine(None)}
    assert found["check_broke"].state == "unknown"
    assert "no such file as /proc" in found["check_broke"].found
    assert "no_gpu" in found or "gpu" in found


def test_the_command_says_so_in_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\n"
        f"arms: {{a: {{weight_format: bf16, model: m, engine: openai, target: {{urls: ['{NOBODY_LISTENS}']}}}}}}\n"
        "traffic: {kind: chat}\nloads: [1]\n"
    )
    assert exit_code(["doctor", str(file), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["problem"] == 1
    assert next(each for each in told["diagnoses"] if each["state"] == "problem")["fix"]
