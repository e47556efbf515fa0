"""How a worker comes to be: a process of its own, or a thread of this one; both serve a channel."""

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from whichbits.drive.crew.orders import Channel
from whichbits.drive.crew.service import serve
from whichbits.errors import BadInput

_LEAVE_SECONDS = 2.0
"""A worker that hears nothing but our end leaves within a few milliseconds, unless it hangs."""


@dataclass(frozen=True)
class Hired:
    """A worker and the channel to it.

    ``dismiss`` ends it, whatever it does; ``fate`` says how it ended, or None while it lives. ``machine`` names
    another machine than the lead's, whose clock and disk are not ours; None is this one. ``notes`` are for each cell.
    """

    name: str
    channel: Channel
    dismiss: Callable[[], None]
    fate: Callable[[], str | None]
    machine: str | None = None
    pid: int | None = None
    notes: tuple[str, ...] = ()


Hire = Callable[[int], Hired]
"""Brings up the worker of that number."""


def in_a_process(number: int) -> Hired:
    """Start a process; it dies with us, since its socket then ends.

    Not by ``multiprocessing``: that would run the caller's main module once more in each worker. In a process group of
    its own no Ctrl-C of the terminal reaches it, not even while it imports.
    """
    try:
        process, channel = _process()
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        raise BadInput(
            "open_files_too_few",
            f"worker {number} cannot be started: {error.strerror}",
            why="The channel to each worker is an open file, and the system limits them.",
            fix="Raise the limit (ulimit -n, or LimitNOFILE of a service), or set fewer client.workers.",
        ) from error

    def dismiss() -> None:
        channel.close()
        try:
            process.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return Hired(f"worker {number}", channel, dismiss, lambda: _fate(process), pid=process.pid)


def _process() -> tuple["subprocess.Popen[bytes]", Connection]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "whichbits.drive.crew.service", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            process_group=0,
        )
        return process, Connection(ours.detach())


def in_a_thread(number: int) -> Hired:
    """Serve in a thread of this process: for tests and small jobs, since it shares the interpreter's lock with us."""
    ours, theirs = socket.socketpair()
    channel, its_channel = Connection(ours.detach()), Connection(theirs.detach())

    def work() -> None:
        with its_channel:
            serve(its_channel)

    thread = threading.Thread(target=work, name=f"whichbits worker {number}", daemon=True)
    thread.start()

    def dismiss() -> None:
        channel.close()
        thread.join(_LEAVE_SECONDS)

    return Hired(f"worker {number}", channel, dismiss, lambda: None if thread.is_alive() else "ended", pid=os.getpid())


def _fate(process: "subprocess.Popen[bytes]") -> str | None:
    """Give a process that has hung up a moment to end, and say how it did."""
    try:
        code = process.wait(0.5)
    except subprocess.TimeoutExpired:
        return None
    return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
