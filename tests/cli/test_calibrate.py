"""``whichbits calibrate`` and what it hands to ``whichbits predict``."""

import json
from pathlib import Path

import pytest

from whichbits.cli import exit_code

STUDY = """
name: tiny
gpu: L4
engine_version: 0.25.1
arms: {one: {weight_format: bf16, model: qwen2.5-1.5b, engine: vllm}}
traffic: {kind: random, input_tokens: 50, output_tokens: 20}
loads: [1, 8]
cell: {requests: 16}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def predicted(study: Path, output: Path, *more: str) -> Path:
    """Return the run folder of a prediction without intervals."""
    assert exit_code(["predict", str(study), "--output", str(output), "--draws", "0", *more]) == 0
    return next(output.glob("*tiny*"))


def throughput(run: Path) -> float:
    said = json.loads((run / "summary.json").read_text())
    return float(said["cells"][0]["output_tokens_per_s"])


def test_a_calibration_makes_predictions_like_the_run(
    study: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A run that an L4 half as fast would have given, calibrated on, is what is then predicted."""
    slow = tmp_path / "slow.json"
    slow.write_text('{"constants": {"model.step": {"value": 1.25, "sigma": 0.0, "source": "made up"}}}')
    run = predicted(study, tmp_path / "slow", "--calibration", str(slow))
    fitted = tmp_path / "fitted.json"
    assert exit_code(["calibrate", str(run), "--output", str(fitted)]) == 0
    assert "Root mean square error" in capfd.readouterr().err
    plain = throughput(predicted(study, tmp_path / "plain"))
    again = throughput(predicted(study, tmp_path / "again", "--calibration", str(fitted)))
    assert plain > 1.1 * throughput(run)
    assert again == pytest.approx(throughput(run), rel=0.05)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    assert exit_code(["calibrate", str(tmp_path)]) == 2


def test_a_run_whose_study_is_not_whole_is_one_clear_error(
    study: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = predicted(study, tmp_path / "plain")
    told = json.loads((run / "run.json").read_text())
    del told["study"]["traffic"]
    (run / "run.json").write_text(json.dumps(told))
    capfd.readouterr()

    assert exit_code(["calibrate", str(run)]) == 2
    said = capfd.readouterr().err
    assert "holds no whole study" in said
    assert "pydantic" not in said
