"""A reader that has seen enough ends the command quietly."""

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

    tool.wait(timeout=600)
    assert {"summary.json", "report.md", "report.html"} <= {path.name for path in folder.iterdir()}
