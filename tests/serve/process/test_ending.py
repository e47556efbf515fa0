"""Codes that processes end with, in words."""

import pytest

from whichbits.serve.process.ending import ending


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (7, "exit code 7"),
        (-8, "SIGFPE (an illegal division"),
        (128 + 8, "SIGFPE (an illegal division"),
        (128 + 4, "SIGILL (an instruction that this processor does not have)"),
        (-11, "SIGSEGV (an illegal memory access"),
        (128 + 9, "SIGKILL (often the kernel, out of memory)"),
        (-15, "SIGTERM"),
        (255, "exit code 255"),
    ],
)
def test_a_signal_has_a_name_and_a_usual_cause(code: int, words: str) -> None:
    assert ending(code).startswith(words)
