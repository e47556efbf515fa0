"""``whichbits plan``: exit codes, the table's width, JSON."""

import json
from pathlib import Path

import pytest

from whichbits.cli import exit_code

STUDY = """
name: tiny
engine_version: 0.25.1
every_arm: {engine: vllm, model: qwen2.5-1.5b, max_model_len: 2048}
arms:
  fp16: {weight_format: fp16}
  w4a16: {weight_format: w4a16}
traffic: {kind: random, input_tokens: 50, output_tokens: 10}
loads: [1]
slo: {ttft_ms: 1000, tpot_ms: TPOT}
plan: {gpus: {L4: {price_per_hour: 0.7}}, day: {peak: 100}}
"""


def plan(tmp_path: Path, *more: str, tpot: str = "50") -> int:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("TPOT", tpot))
    return exit_code(["plan", str(path), "--draws", "0", "--workers", "1", *more])


def test_a_plan_fits_80_columns_and_answers_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert plan(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("tiny")
    assert lines[2] == "Answer"
    assert "million output tokens" in lines[3] + lines[4]


def test_json_holds_the_hours_and_what_others_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(tmp_path, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["cheapest"]["hours"]) == 24
    assert said["cheapest"]["hours"][14]["rate"] == 100
    assert {each["option"]["arm"] for each in said["prospects"]} == {"fp16", "w4a16"}
    assert said["cost_low"] is None
    assert said["goal"] == {"slo": {"ttft_ms": 1000, "tpot_ms": 50, "e2e_ms": None}, "share": 0.99}
    assert [each["factor"] for each in said["what_if"]] == said["slo_factors"]


def test_no_plan_is_said_with_what_binds_and_exit_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(tmp_path, tpot="0.5") == 5
    said = capsys.readouterr().out
    assert "No plan meets this" in said
    assert "0.5 ms are asked" in " ".join(said.split())


def test_a_study_without_a_plan_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("TPOT", "50").partition("plan:")[0])
    assert exit_code(["plan", str(path)]) == 2
    assert "nothing_to_plan" in capsys.readouterr().err
