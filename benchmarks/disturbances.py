"""What takes the CPU from a client's worker on purpose: a busy neighbour on its core, or being stopped now and then."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_BURN = """
import sys, time
share, period = float(sys.argv[1]), 0.02
while True:
    until = time.monotonic() + share * period
    while time.monotonic() < until:
        pass
    time.sleep((1 - share) * period)
"""


@contextmanager
def burner(pid: int, share: float) -> Iterator[None]:
    """Pin ``pid`` and a process that computes for this share of the time to one core."""
    allowed = os.sched_getaffinity(pid)
    core = {max(allowed)}
    os.sched_setaffinity(pid, core)
    # A session of its own, as a stranger's job has: the kernel shares a core out between sessions.
    with subprocess.Popen([sys.executable, "-c", _BURN, str(share)], start_new_session=True) as process:
        os.sched_setaffinity(process.pid, core)
        try:
            yield
        finally:
            process.kill()
            os.sched_setaffinity(pid, allowed)


@contextmanager
def stopper(pid: int, stop_ms: float, every_ms: float) -> Iterator[None]:
    """Stop ``pid`` for so long, and again so long after the last stop began."""
    over = threading.Event()

    def stop_and_go() -> None:
        while not over.wait((every_ms - stop_ms) / 1000):
            os.kill(pid, signal.SIGSTOP)
            over.wait(stop_ms / 1000)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)
