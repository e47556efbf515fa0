"""A run has one writer at a time, among processes; a kill frees it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.record.make_run import make_run
from whichbits.cli import exit_code
from whichbits.errors import BadInput
from whichbits.record.sole_writer import refuse_in_use, sole_writer

HOLDS = """
import sys
from pathlib import Path
from whichbits.record.sole_writer import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("holds", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_writer(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "holds\n"
        yield other
        other.kill()


@pytest.mark.parametrize("arguments", [["run"], ["run", "--resume"]])
def test_a_run_that_another_process_writes_is_not_gone_on_with(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path, loads=(1,))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with another_writer(folder):
        assert exit_code([*arguments, str(folder)]) == 2
    assert "run_in_use" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_writer_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    with another_writer(tmp_path) as other:
        with pytest.raises(BadInput, match="another whichbits"):
            refuse_in_use(tmp_path)
        other.kill()
        other.wait()
        refuse_in_use(tmp_path)


def test_writers_may_follow_each_other(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_writer(tmp_path), pytest.raises(BadInput, match="another whichbits"):
            refuse_in_use(tmp_path)
    refuse_in_use(tmp_path / "not there")
    assert list(tmp_path.iterdir()) == []
