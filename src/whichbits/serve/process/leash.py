"""Hold a server on a leash: when its owner goes, for whatever reason, every process it started goes too.

    python -m whichbits.serve.process.leash [--grace SECONDS] -- COMMAND [ARGUMENT ...]

Standard input is the leash: its end means that the owner is gone or lets go. SIGTERM, SIGINT and SIGHUP do
the same. Then everything that descends from the command gets SIGTERM, and SIGKILL after the grace. The
command's exit code passes through; death by a signal N becomes 128 + N, as in a shell. Linux only, standard
library only.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

GRACE_SECONDS = 5.0
KILL_SECONDS = 10.0  # a process in uninterruptible I/O may outlive SIGKILL; do not wait for it for ever
_CANNOT_START = 127
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STDIN = 0
_STDERR = 2
_LET_GO = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class Family:
    """The server and everything that descends from it, whichever sessions they moved to."""

    def __init__(self, server: int) -> None:
        self.server = server
        self.server_code: int | None = None

    def reap(self) -> bool:
        """Collect the dead, adopted ones too; False once nobody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.server:
                self.server_code = os.waitstatus_to_exitcode(status)

    def signal(self, number: signal.Signals) -> None:
        for pid in _descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def main(arguments: list[str]) -> int:
    """Run the command until it or its owner ends, leave nobody behind, and return its exit code."""
    grace_seconds, command = _read(arguments)
    owner = os.getppid()
    # Orphans of the server must become ours, not init's: only then can they be found and ended.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wakeups = _wake_on_signals()
    family = Family(_start(command))
    _watch(family, owner, wakeups)
    _end(family, grace_seconds, wakeups)
    code = family.server_code
    if code is None:
        return 128 + signal.SIGKILL
    return code if code >= 0 else 128 - code


def _read(arguments: list[str]) -> tuple[float, list[str]]:
    match arguments:
        case ["--grace", seconds, "--", *command] if command:
            return float(seconds), command
        case ["--", *command] if command:
            return GRACE_SECONDS, command
    sys.exit("usage: leash [--grace SECONDS] -- COMMAND [ARGUMENT ...]")


def _start(command: list[str]) -> int:
    leash = os.getpid()
    server = os.fork()
    if server == 0:
        _become(command, leash)
    return server


def _become(command: list[str], leash: int) -> NoReturn:
    try:
        os.setsid()  # Ctrl-C in a terminal reaches the foreground group; the server must not be in it
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == leash:  # otherwise the leash died before the line above took effect
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would pass that on
            os.dup2(os.open(os.devnull, os.O_RDONLY), _STDIN)
            os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(_STDERR, f"whichbits: cannot start {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(_CANNOT_START)


def _watch(family: Family, owner: int, wakeups: int) -> None:
    """Return when the server ended, or when the owner let go, was killed, or closed the leash."""
    while family.reap() and family.server_code is None:
        # The timeout matters only if a fork of the owner still holds the other end of our standard input.
        readable, _, _ = select.select([_STDIN, wakeups], [], [], 0.5)
        if _STDIN in readable and not os.read(_STDIN, 4096):
            return
        if wakeups in readable and _LET_GO.intersection(os.read(wakeups, 4096)):
            return
        if os.getppid() != owner:
            return


def _end(family: Family, grace_seconds: float, wakeups: int) -> None:
    family.signal(signal.SIGTERM)
    _repeat_while_anyone_is_left(family, grace_seconds, lambda: _sleep(wakeups))
    _repeat_while_anyone_is_left(family, KILL_SECONDS, lambda: family.signal(signal.SIGKILL))


def _repeat_while_anyone_is_left(family: Family, seconds: float, action: Callable[[], None]) -> None:
    deadline = time.monotonic() + seconds
    while family.reap() and time.monotonic() < deadline:
        action()
        time.sleep(0.01)


def _sleep(wakeups: int) -> None:
    """Sleep until a child ends, a tenth of a second at most."""
    if select.select([wakeups], [], [], 0.1)[0]:
        os.read(wakeups, 4096)


def _descendants(ancestor: int) -> list[int]:
    """Return the pids below ``ancestor``, parents before children."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found = children.get(ancestor, [])
    for pid in found:  # grows while it is walked: breadth first
        found.extend(children.get(pid, []))
    return found


def _parent(entry: Path) -> int | None:
    with suppress(OSError):  # it ended since /proc was listed
        # The name in brackets may hold anything, brackets too; state and parent follow the last one.
        return int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
    return None


def _wake_on_signals() -> int:
    """Return a descriptor that yields the number of every signal that this program cares for."""
    wakeups, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (*_LET_GO, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return wakeups


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
