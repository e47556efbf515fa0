"""A server process on its leash: start it, ask whether it lives, end it with all that it started."""

import asyncio
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import SystemRandom

import psutil

from whichbits.serve.process import leash

_MARK = "WHICHBITS_LEASH"
_POLL_SECONDS = 0.02
_LEASH_MARGIN_SECONDS = 5.0
_PORTS = range(20_000, 30_000)
"""Below those that Linux gives away by itself (32768 to 60999), and Kubernetes for its nodes (30000 to 32767)."""
_PORT_TRIES = 64


class ServerProcess:
    """One server under its leash.

    However the owner ends, its end of the leash's pipe closes, and the leash does the rest; nothing here
    needs to run for that. Hence a plain ``Popen``: asyncio's transport, when dropped, kills the leash itself.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        grace_seconds: float = leash.GRACE_SECONDS,
    ) -> None:
        """Start ``argv`` with ``environment`` on top of ours; both its outputs are appended to ``log``."""
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        self.started_ns = time.monotonic_ns()
        self._mark = uuid.uuid4().hex
        self._grace_seconds = grace_seconds
        with log.open("ab") as output:
            self._log_start = output.tell()
            self._leash = subprocess.Popen(
                # By path and isolated: the server's PYTHONPATH must not decide what the leash imports.
                [sys.executable, "-I", "-S", leash.__file__, "--grace", str(grace_seconds), "--", *argv],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"PYTHONUNBUFFERED": "1", **os.environ, **environment, _MARK: self._mark},
                start_new_session=True,
            )

    @property
    def leash_pid(self) -> int:
        """The supervisor's pid, not the server's."""
        return self._leash.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; then the server's exit code, 128 + N if signal N ended it."""
        code = self._leash.poll()
        return code if code is None or code >= 0 else 128 - code

    def log_text(self) -> str:
        """Return what this process has written so far; earlier contents of the file are left out."""
        with self.log.open("rb") as written:
            written.seek(self._log_start)
            return written.read().decode(errors="replace")

    async def stop(self) -> None:
        """End the server and all it started; may be called again. A cancellation waits until that is done."""
        if self._leash.stdin is not None:
            self._leash.stdin.close()
        cancelled: asyncio.CancelledError | None = None
        deadline = time.monotonic() + self._grace_seconds + leash.KILL_SECONDS + _LEASH_MARGIN_SECONDS
        while (code := self._leash.poll()) is None:
            try:
                await asyncio.sleep(_POLL_SECONDS)
            except asyncio.CancelledError as cancellation:
                cancelled = cancellation
            if time.monotonic() > deadline:
                self._leash.kill()
        if code < 0:
            _end_marked(self._mark)
        if cancelled is not None:
            raise cancelled


def free_ports(count: int, host: str = "127.0.0.1") -> tuple[int, ...]:
    """Return ``count`` distinct ports that were free a moment ago.

    A server takes seconds to come to its port; by then nobody who asks the system for any port may have been given it.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            _bind(one, host)
        return tuple(one.getsockname()[1] for one in sockets)


def _bind(one: socket.socket, host: str) -> None:
    """Bind to a port that the system gives to nobody by itself; where none of many is free, to one that it gives."""
    draw = SystemRandom()  # two processes whose generators were seeded alike must not draw alike
    for _ in range(_PORT_TRIES):
        with suppress(OSError):
            one.bind((host, draw.choice(_PORTS)))
            return
    one.bind((host, 0))


def _end_marked(mark: str) -> None:
    """Kill what a killed leash left behind: its descendants still carry the mark in their environment.

    Some do not: vLLM's engine core writes its title over it. They share a session with one that does, and the leash
    began a session of its own.
    """
    sessions = {session for process in psutil.process_iter() if (session := _marked_session(process, mark)) is not None}
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) in sessions:
                process.kill()


def _marked_session(process: psutil.Process, mark: str) -> int | None:
    with suppress(psutil.Error, ProcessLookupError):
        if process.environ().get(_MARK) == mark:
            return os.getsid(process.pid)
    return None
