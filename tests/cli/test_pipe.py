"""A reader that has seen enough ends the command quietly, and ends no measurement."""

import json
import subprocess
import sys
from pathlib import Path

from tests.record.make_run import make_run


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("INFO 01-30 03:18:12 api_server.py:10] Graph capturing finished in 20 secs, took 0.50 GiB\n")
    command = [sys.executable, "-c", "from whichbits.cli import main; main()", "inspect", "--json", *[str(log)] * 400]
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert tool.stdout is not None
    assert tool.stderr is not None
    tool.stdout.close()
    said = tool.stderr.read().decode()
    tool.stderr.close()

    assert tool.wait(timeout=600) == 141
    assert said == ""


def test_reports_are_written_though_nobody_reads_the_terminal(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    command = [sys.executable, "-c", "from whichbits.cli import main; main()", "report", str(folder)]
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert tool.stdout is not None
    tool.stdout.close()

    assert tool.wait(timeout=600) == 141
    assert {"summary.json", "report.md", "report.html"} <= {path.name for path in folder.iterdir()}


STUDY = """
name: unread
every_arm: {engine: mock, model: m, options: {ttft_ms: 1, itl_ms: 1}}
arms: {a: {weight_format: fp16}}
traffic: {kind: random, input_tokens: 8, output_tokens: 2}
loads: [1]
cell: {requests: 4}
warm_up: {at_least_requests: 1, at_most_requests: 1}
"""


def measured(tmp_path: Path, redirections: str) -> list[str]:
    """Run the study under a shell, and return the states of its cells."""
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    tool = [sys.executable, "-c", "from whichbits.cli import main; main()", "run", str(study), "--output"]
    command = ["sh", "-c", f'ulimit -c 0; exec "$@" {redirections}', "sh", *tool, str(tmp_path / "runs")]
    subprocess.run(command, check=False, capture_output=True, timeout=600)
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "report.html").exists()
    return [cell["state"] for cell in json.loads((folder / "run.json").read_text())["cells"]]


def test_a_run_goes_on_when_nothing_takes_its_progress(tmp_path: Path) -> None:
    assert measured(tmp_path, "2>/dev/full") == ["done"]


def test_a_run_needs_no_standard_stream(tmp_path: Path) -> None:
    assert measured(tmp_path, "<&- >&- 2>&-") == ["done"]
