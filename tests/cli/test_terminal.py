"""What verbs print, on terminals of several widths and where there is none: whole lines, and no more than asked."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.record.make_run import TWO_ARMS, PowerLaw, SyntheticArm, make_run
from whichbits.cli import app, exit_code

STUDY = """
name: mine
gpu: L4
every_arm: {engine: vllm, model: Qwen/Qwen2.5-7B-Instruct}
arms: {fp16: {weight_format: fp16}, w4a16: {weight_format: w4a16}}
traffic: {kind: random, input_tokens: 128, output_tokens: 64}
loads: [1, 8]
predictions:
  - w4a16.tpot_median < fp16.tpot_median at load 1
"""
MOCK = STUDY.replace("engine: vllm,", "engine: mock, options: {ttft_ms: 1, itl_ms: 1},")
LOG = """\
(EngineCore pid=9) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: \
model='org/m', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, quantization=None, enforce_eager=False
(EngineCore pid=9) INFO 07-06 22:52:09 [kv_cache_utils.py:2146] GPU KV cache size: 567,541 tokens
"""
VERBS = (
    *("arms", "calibrate", "compare", "doctor", "export", "import", "inspect", "load", "mock", "plan", "predict"),
    *("quality", "report", "run", "view"),
)

COMMANDS: dict[str, tuple[str, ...]] = {
    "help": ("--help",),
    **{f"help of {verb}": (verb, "--help") for verb in VERBS},
    "report": ("report", "run"),
    "report of repeats": ("report", "repeats"),
    "compare": ("compare", "run", "repeats"),
    "compare with a limit": ("compare", "run", "run", "--fail-on", "p50_ttft +10%"),
    "dry run": ("run", "mock.yaml", "--dry-run"),
    "predict": ("predict", "study.yaml", "--output", "predicted"),
    "inspect": ("inspect", "server.log"),
    "inspect a run": ("inspect", "run"),
    "doctor": ("doctor", "mock.yaml"),
    "export": ("export", "run", "--format", "vllm-bench", "--into", "out"),
    "import": ("import", "nothing.json"),
    "an error": ("run", "nothing.yaml"),
    "a wrong flag": ("run", "--nope"),
    "no such verb": ("serve",),
}
_ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("work")
    (work / "study.yaml").write_text(STUDY)
    (work / "mock.yaml").write_text(MOCK)
    (work / "server.log").write_text(LOG)
    arms = TWO_ARMS | {"w4a16-gptq-group-128": SyntheticArm(tpot_ms=PowerLaw(7.0), failed_requests=1)}
    make_run(work / "made", arms, loads=(1, 4, 32)).rename(work / "run")
    make_run(work / "made", TWO_ARMS, loads=(4, 32), repeats=3).rename(work / "repeats")
    return work


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_lines_hold_the_width_and_no_escape_is_written_to_a_pipe(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: Sequence[str],
    width: int,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(app, "_console", Console())  # cyclopts keeps one, with the width of when it was made
    monkeypatch.setattr(app, "_error_console", Console(stderr=True))
    exit_code(command)
    told = capsys.readouterr()

    lines = (told.out + told.err).splitlines()
    assert lines
    assert [line for line in lines if cell_len(line) > width] == []
    assert _ESCAPE not in told.out + told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    "command",
    [
        ("report", "run", "--json"),
        ("compare", "run", "repeats", "--json"),
        ("predict", "study.yaml", "--output", "predicted", "--json"),
        ("doctor", "mock.yaml", "--json"),
        ("inspect", "server.log", "--json"),
    ],
    ids=lambda command: command[0],
)
def test_with_json_stdout_is_one_object(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: Sequence[str]
) -> None:
    monkeypatch.chdir(folder)
    exit_code(command)

    assert isinstance(json.loads(capsys.readouterr().out), dict)


@pytest.mark.parametrize("verb", ["report", "run"])
def test_a_failure_leaves_stdout_empty(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert exit_code([verb, "nothing-here"]) == 2
    assert not capsys.readouterr().out


def test_numbers_are_never_broken_on_a_narrow_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    exit_code(["report", "repeats"])
    wide = numbers(capsys.readouterr().out)
    monkeypatch.setenv("COLUMNS", "44")
    exit_code(["report", "repeats"])

    narrow = numbers(capsys.readouterr().out)
    assert wide
    assert wide <= narrow


def numbers(text: str) -> set[str]:
    """Return the numbers of the table of cells with their marks."""
    table = text[text.index("Cells by") : text.index("best of the load")]
    return set(re.findall(r"~?\d+\.?\d*\*?", table[table.index("c4") :]))


def test_a_run_in_a_log_and_its_answer_last(tmp_path: Path) -> None:
    study = MOCK.replace(
        "loads: [1, 8]", "loads: [2]\ncell: {requests: 6}\nwarm_up: {at_least_requests: 2, at_most_requests: 2}"
    )
    (tmp_path / "study.yaml").write_text(study.replace("at load 1", "at load 2"))
    command = [sys.executable, "-m", "whichbits", "run", "study.yaml", "--output", "runs"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    ended = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=600, check=False)

    assert _ESCAPE not in ended.stdout + ended.stderr
    stamped = [line for line in ended.stderr.splitlines() if re.match(r"\d\d:\d\d:\d\d \[ *\d+%\] ", line)]
    assert sum("TPOT" in line for line in stamped) == 2  # a line a cell
    said = [line for line in ended.stderr.splitlines() if line]
    first, last = said.index(stamped[0]), said.index(stamped[-1])  # before it, what the doctor finds on a busy machine
    assert said[first : last + 1] == stamped
    assert not said[last + 1 :] or said[last + 1].startswith("exit code ")
    heads = [line for line in ended.stdout.splitlines() if line and not line.startswith(" ")]
    assert heads[0].startswith("mine  measured")
    assert heads[-2].startswith("Wrote runs/")
    assert heads[-3].startswith(("Answer", "Findings"))
