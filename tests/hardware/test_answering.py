"""A program is given its time and no more, and all together theirs; what it started ends with it."""

import subprocess
import time
from pathlib import Path

import psutil
import pytest

from whichbits.hardware.answering import Patience, answer

HANGS = ["sleep", "60"]


def test_what_a_program_is_told_and_says() -> None:
    assert answer(["cat"], 20, said="who are you?") == "who are you?"
    assert answer(["sh", "-c", "echo $WHO"], 20, environment={"WHO": "me", "PATH": "/bin"}) == "me\n"
    assert answer(["printf", "\\377"], 20) == "\N{REPLACEMENT CHARACTER}"


def test_one_that_fails_says_how() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        answer(["sh", "-c", "echo no such card >&2; exit 9"], 20)
    assert (failed.value.returncode, failed.value.stderr) == (9, "no such card\n")


def test_one_that_hangs_ends_with_all_that_it_started(tmp_path: Path) -> None:
    """A wrapper's child holds the pipes, and would be waited for to its end."""
    said = tmp_path / "pid"
    with pytest.raises(subprocess.TimeoutExpired):
        answer(["sh", "-c", f"sleep 60 & echo $! > {said}; wait"], 0.5)

    child = int(said.read_text())
    deadline = time.monotonic() + 20
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_what_one_took_is_not_left_to_the_others(tmp_path: Path) -> None:
    patience, asked = Patience(0.6), tmp_path / "asked"
    with pytest.raises(subprocess.TimeoutExpired) as first:
        patience.answer(HANGS, 30)
    with pytest.raises(subprocess.TimeoutExpired) as second:
        patience.answer(["touch", str(asked)], 30)

    assert first.value.timeout == pytest.approx(0.6)
    assert second.value.timeout == 0
    assert not asked.exists()


def test_each_has_no_more_than_its_own_time() -> None:
    patience = Patience(60)
    with pytest.raises(subprocess.TimeoutExpired) as silence:
        patience.answer(HANGS, 0.2)

    assert silence.value.timeout == 0.2
    assert patience.left_s < 60
    assert patience.answer(["echo", "here"], 20) == "here\n"
