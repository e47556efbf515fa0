"""Programs of this machine that are asked something: each gets its time, and one that hangs is let go of."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from whichbits.errors import BadInput

_END_S = 1.0
"""How long a killed program may take to be gone: one that waits for a driver or a file system may never be."""
_LITTLE_S = 0.5


@dataclass
class Patience:
    """The seconds that are left for answers, of all programs together."""

    left_s: float

    def answer(
        self, command: Sequence[str], at_most_s: float, *, said: str = "", environment: Mapping[str, str] | None = None
    ) -> str:
        """Return what ``command``, which is told ``said``, prints, within its time and what is left of all.

        Raises:
            OSError: it cannot be started.
            subprocess.TimeoutExpired: it gave no answer, or nothing was left to wait for one.
            subprocess.CalledProcessError: it failed.
        """
        seconds = min(at_most_s, self.left_s)
        if seconds < min(_LITTLE_S, at_most_s):
            raise subprocess.TimeoutExpired(command, 0.0)
        begun = time.monotonic()
        try:
            return answer(command, seconds, said=said, environment=environment)
        finally:
            self.left_s -= time.monotonic() - begun


def answer(
    command: Sequence[str], seconds: float, *, said: str = "", environment: Mapping[str, str] | None = None
) -> str:
    """Return what a program prints. Raises as ``Patience.answer`` does."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    try:
        printed, complained = process.communicate(said, timeout=seconds)
    except BaseException:
        _let_go(process)
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, printed, complained)
    return printed


def python_silent(python: str, seconds: float) -> BadInput:
    """Return the error of an interpreter that hangs."""
    told = f"{python} gave no answer within {seconds:.0f} s" if seconds else f"{python} was not asked"
    return BadInput(
        "python_silent",
        told,
        why="something at its start hangs, such as a file system that is away or a wrapper script, or others that hung "
        "before it took all the time that there is for answers",
        fix=f"see that `{python} -c pass` ends by itself",
    )


def _let_go(process: "subprocess.Popen[str]") -> None:
    """End a program and what it started, without waiting for one that cannot be ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
