"""``whichbits arms``: what it prints, writes and exits with."""

import json
from pathlib import Path

import pytest

from tests.arms.models import write_model
from whichbits.cli import exit_code


def test_arms_are_made_and_told_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, output = write_model(tmp_path / "model"), tmp_path / "arms"

    assert exit_code(["arms", str(model), "-o", str(output), "--json"]) == 0
    told = capfd.readouterr()
    said = json.loads(told.out)
    assert [arm["name"] for arm in said["arms"]] == ["w8a8-fp8", "w8a8-int8", "w4a16"]
    assert sorted(path.name for path in output.iterdir()) == ["w4a16", "w8a8-fp8", "w8a8-int8"]
    (int8,) = [arm for arm in said["arms"] if arm["name"] == "w8a8-int8"]
    assert int8["bytes"] < said["source_bytes"]
    assert {gpu["class"]: gpu["kernel"] for gpu in int8["gpus"]}["Ada (L4, L40S)"] == "CutlassInt8ScaledMMLinearKernel"
    assert [gpu["note"] for gpu in int8["gpus"] if gpu["kernel"] is None] == ["INT8 W8A8 has no kernel on Blackwell"]
    assert "weights off by" in told.err


def test_gpus_without_fp8_units_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = write_model(tmp_path / "model")

    assert exit_code(["arms", str(model), "--formats", "w8a8-fp8", "-o", str(tmp_path / "arms")]) == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if "MarlinFP8" in line]
    assert len(lines) == 1
    assert "A100" in lines[0]
    assert "no FP8 tensor cores" in lines[0]


def test_what_cannot_be_made_is_one_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = write_model(tmp_path / "model")

    assert exit_code(["arms", str(model), "--formats", "fp8", "-o", str(tmp_path / "arms")]) == 2
    told = capfd.readouterr().err
    assert "did you mean 'w8a8-fp8'" in told
    assert "Traceback" not in told
    assert not (tmp_path / "arms").exists()


def test_a_name_that_is_no_model_is_explained(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["arms", "smollm3", "-o", str(tmp_path / "arms")]) == 2
    assert "arm_model_unknown" in capfd.readouterr().err
