"""The tool as a terminal runs it: a process in a session of its own, watched through what it prints.

Run as a module it is ``whichbits`` with one engine more, the paced one, and without pictures in its reports.
"""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from whichbits.record.run import Run

WITH_PACED_ENGINE = ("-m", "tests.e2e.tool")
AS_INSTALLED = ("-c", "from whichbits.cli import main; main()")

_ROOT = Path(__file__).parents[2]
_MARK = "WHICHBITS_TEST_MARK"
_PATIENCE_S = 600.0
"""Only a fault takes so long, on however busy a machine."""


class Tool:
    """One run of ``whichbits``; everything that it starts carries its mark."""

    def __init__(self, folder: Path, program: tuple[str, ...], arguments: tuple[str, ...]) -> None:
        self._mark = uuid.uuid4().hex
        self._stdout, self._stderr = (folder / f"{self._mark}.{name}" for name in ("out", "err"))
        paths = os.pathsep.join([str(_ROOT / "src"), str(_ROOT)])
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, *program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": paths, _MARK: self._mark},
                start_new_session=True,
            )

    @property
    def stdout(self) -> str:
        return self._stdout.read_text()

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def wait(self, patience_s: float = _PATIENCE_S) -> int:
        """Return the exit code."""
        return self._process.wait(patience_s)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until ``text`` was printed for the user so often; blanks that align columns count as one."""
        words = " ".join(text.split())
        eventually(lambda: self._said(words) >= times or self.returncode is not None)
        assert self._said(words) >= times, self.stderr

    def _said(self, words: str) -> int:
        return " ".join(self.stderr.split()).count(words)

    def press_ctrl_c(self) -> None:
        """Send SIGINT to the foreground process group, as a terminal does."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """``kill -9`` of the tool itself."""
        self._process.kill()
        self._process.wait()

    def processes(self) -> list[int]:
        """Return the pids of all living processes that carry the mark, the tool's own included."""
        return [process.pid for process in psutil.process_iter() if self._mark in _environment(process)]

    def leaves_nothing_behind(self) -> bool:
        """Wait until nothing carries the mark, and return whether that came to pass."""
        with suppress(TimeoutError):
            eventually(lambda: not self.processes())
        return not self.processes()


@contextmanager
def tool(folder: Path, *arguments: object, program: tuple[str, ...] = WITH_PACED_ENGINE) -> Iterator[Tool]:
    """Start ``whichbits`` with ``arguments``; its outputs are kept in ``folder``."""
    running = Tool(folder, program, tuple(map(str, arguments)))
    try:
        yield running
    finally:
        for pid in running.processes():
            os.kill(pid, signal.SIGKILL)


def run_of(folder: Path) -> Run:
    """Return the one run that lies below ``folder``/runs."""
    (path,) = (folder / "runs").iterdir()
    return Run.load(path)


def states(run: Run) -> list[str]:
    """Return the states of the cells in the order in which they run."""
    return [cell.state for cell in run.cells]


def good_exit(run: Run) -> int:
    """Return the exit code of a run in which nothing failed: on a busy machine the client may be the limit."""
    limited = any(cell.client is not None and cell.client.verdict == "client_limited" for cell in run.cells)
    return 6 if limited else 0


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until ``condition`` holds."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def _environment(process: psutil.Process) -> list[str]:
    """Return the values in the environment of a living process; a zombie has none."""
    try:
        return [] if process.status() == psutil.STATUS_ZOMBIE else [process.environ().get(_MARK, "")]
    except psutil.Error:
        return []


if __name__ == "__main__":
    import pytest

    from tests.e2e.paced_engine import plug_in
    from whichbits.cli import main

    with pytest.MonkeyPatch.context() as patch:
        plug_in(patch)
        main()
