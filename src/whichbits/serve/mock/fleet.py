"""Mocks in processes of their own, one listener each, that end with whoever started them."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict

import msgspec

from whichbits.errors import ServerNotReady
from whichbits.serve.mock.__main__ import UNTIL_STDIN_ENDS
from whichbits.serve.mock.settings import MockSettings

_END_SECONDS = 10.0


@contextmanager
def mocks(ports: Sequence[int], settings: MockSettings, host: str = "127.0.0.1") -> Iterator[tuple[str, ...]]:
    """Run a mock on each port (0: one that is free) and yield their addresses; all have ended when this returns.

    Raises:
        ServerNotReady: one could not listen.
    """
    with ExitStack() as stack:
        started = [stack.enter_context(_mock(host, port, settings)) for port in ports]
        yield tuple(_address(process) for process in started)


@contextmanager
def _mock(host: str, port: int, settings: MockSettings) -> Iterator["subprocess.Popen[str]"]:
    told = msgspec.json.encode(asdict(settings)).decode()
    process = subprocess.Popen(
        [sys.executable, "-m", "whichbits.serve.mock", host, str(port), told, UNTIL_STDIN_ENDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for us; the mock ends when we let go of its stdin
    )
    try:
        yield process
    finally:
        _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    try:
        process.communicate(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _address(process: "subprocess.Popen[str]") -> str:
    line = process.stdout.readline() if process.stdout is not None else ""
    if line:
        return line.strip()
    said = process.stderr.read() if process.stderr is not None else ""
    raise ServerNotReady(
        "mock_not_listening",
        "the mock did not start",
        why=" ".join(said.split("\n")[-2:]).strip() or "it said nothing",
        fix="give a free --port, and an address of this machine as --host",
    )
