"""Nothing that a server starts outlives the leash's owner, whatever it does to get away."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.serve.fake_server import command, survivors, wait_for_pids
from whichbits.serve.process import leash


@contextmanager
def leashed(*argv: str, grace: str = "0.3") -> Iterator[subprocess.Popen[bytes]]:
    """Run ``argv`` on a leash that the caller holds."""
    arguments = [sys.executable, leash.__file__, "--grace", grace, "--", *argv]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process


@pytest.mark.parametrize(("program", "code"), [("exit 3", 3), ("kill -ABRT $$", 128 + signal.SIGABRT)])
def test_the_exit_code_passes_through(program: str, code: int) -> None:
    with leashed("sh", "-c", program) as process:
        assert process.wait(60) == code


def test_a_command_that_cannot_start_is_named() -> None:
    with leashed("/no/such/server") as process:
        assert process.wait(60) == 127
        assert process.stderr is not None
        assert b"cannot start /no/such/server: No such file or directory" in process.stderr.read()


@pytest.mark.parametrize("behaviour", [(), ("deaf",), ("daemon",), ("daemon", "deaf")])
@pytest.mark.parametrize("way", ["let go", "SIGTERM"])
def test_all_end_when_the_owner_lets_go(tmp_path: Path, way: str, behaviour: tuple[str, ...]) -> None:
    with leashed(*command(0, tmp_path / "pids", *behaviour)) as process:
        pids = wait_for_pids(tmp_path / "pids", 2 if "daemon" in behaviour else 1)
        assert process.stdin is not None
        if way == "let go":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        process.wait(60)

        assert survivors(pids, 0) == []


def test_a_daemon_ends_with_the_server_that_left_it(tmp_path: Path) -> None:
    with leashed(*command(0, tmp_path / "pids", "daemon", "dies")) as process:
        assert process.wait(60) == 7

        assert survivors(wait_for_pids(tmp_path / "pids", 2), 0) == []
