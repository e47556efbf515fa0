"""A full disk and what belongs to others are said in one error; any other failure of the system is not hidden."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tests.record.make_run import make_run
from whichbits import cli


def app_that_raises(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def failing(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(cli, "app", failing)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_ends_in_one_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], number: int
) -> None:
    app_that_raises(monkeypatch, OSError(number, os.strerror(number), "/runs/it/run.json"))

    assert cli.exit_code(["run"]) == 2
    said = capfd.readouterr().err
    assert "disk_full" in said
    assert "/runs/it/run.json" in said


def test_other_failures_of_the_system_are_not_called_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    app_that_raises(monkeypatch, OSError(errno.EIO, "broken"))

    with pytest.raises(OSError, match="broken"):
        cli.exit_code(["run"])


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["people", "json"])
def test_a_full_stdout_is_not_called_a_full_disk(tmp_path: Path, options: list[str], unbuffered: str) -> None:
    run = make_run(tmp_path, loads=(1,))
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from whichbits.cli import main; main()", "report", run, *options],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert "stdout_unwritable" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (run / "report.html").exists()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_what_belongs_to_others_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], number: int
) -> None:
    app_that_raises(monkeypatch, OSError(number, os.strerror(number), "/theirs/run.json"))

    assert cli.exit_code(["compare"]) == 2
    said = capfd.readouterr().err
    assert "no_permission" in said
    assert "/theirs/run.json" in said
