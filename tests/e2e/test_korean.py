"""A run in Korean: all that is said is Korean, all that is recorded is as in English."""

import re
from pathlib import Path

import pytest

from tests.e2e.tool import run_of
from whichbits.cli import exit_code

STUDY = """
name: told-in-korean
every_arm: {engine: mock, model: whichbits-mock, options: {ttft_ms: 2, itl_ms: 2}}
arms:
  a: {weight_format: w4a16}
  b: {weight_format: w8a8-int8}
traffic: {kind: random, input_tokens: 8, output_tokens: 4}
loads: [1, 2]
cell: {requests: 8}
"""
HANGUL = re.compile("[가-힣]")
TIMED = re.compile(r"\d\d:\d\d:\d\d \[[ \d]{3}%\] (.*)")
NAMES = {"mock", "tok", "TPOT", "ms"}
"""Words of the field and of the study, which stay."""


def test_nothing_is_said_in_english_and_nothing_recorded_in_korean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY, encoding="utf-8")

    exit_code(["run", str(study), "--plain", "--lang", "ko", "--output", str(tmp_path / "runs")])

    told = [found[1] for line in capsys.readouterr().err.splitlines() if (found := TIMED.fullmatch(line))]
    assert len(told) >= 3 + 2 * (3 + 2 * 2)  # weights, the plan, the end; of each arm three lines, and two of each cell
    for line in told:
        assert HANGUL.search(line)
        assert set(re.findall("[A-Za-z]{2,}", line)) <= NAMES, line
    folder = run_of(tmp_path).folder
    for path in (folder / "run.json", folder / "summary.json", *(folder / "logs").iterdir()):
        assert HANGUL.search(path.read_text(encoding="utf-8")) is None, path
