"""A server that misbehaves on request: ``fake_server.py PORT PIDS [dies] [silent] [deaf] [daemon]``.

It appends its pid to the file PIDS, and those of what it starts.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil


class Health(BaseHTTPRequestHandler):
    """Says 503 twice, then 200, to GET /health."""

    asked = 0

    def do_GET(self) -> None:
        Health.asked += 1
        self.send_response(200 if Health.asked > 2 else 503)
        self.end_headers()


def command(port: int, pids: Path, *behaviour: str) -> list[str]:
    """Return how to start one."""
    return [sys.executable, __file__, str(port), str(pids), *behaviour]


def wait_for_pids(pids: Path, count: int) -> list[int]:
    """Wait until ``count`` processes have announced themselves."""
    for _ in range(6000):
        if pids.exists() and len(found := pids.read_text().split()) == count:
            return [int(pid) for pid in found]
        time.sleep(0.01)
    raise AssertionError(f"fewer than {count} processes in {pids}")


def survivors(pids: Sequence[int], seconds: float = 60.0) -> list[int]:
    """Return which of ``pids`` still run after at most ``seconds``, and kill those."""
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if _runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def _runs(pid: int) -> bool:
    """A zombie has ended; when it is reaped is up to this machine's init."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _announce(pids: str) -> None:
    with Path(pids).open("a") as announced:
        announced.write(f"{os.getpid()}\n")


def _serve(port: str, pids: str, *behaviour: str) -> None:
    if "deaf" in behaviour:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "daemon" in behaviour:
        child = [sys.executable, __file__, port, pids, "silent", "deaf", "fork"]
        subprocess.run(child, check=True, start_new_session=True)
        wait_for_pids(Path(pids), 1)  # the daemon's pid stands first
    if "fork" in behaviour and os.fork():
        os._exit(0)
    _announce(pids)
    if "dies" in behaviour:
        print("loading\nRuntimeError: the weights are not there\nsee above", flush=True)
        if "chatters" in behaviour:
            print('INFO: 127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK', flush=True)
            print("Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 0 reqs", flush=True)
        os._exit(7)
    if "silent" in behaviour:
        print("loading shard 1 of 2", flush=True)
        time.sleep(60)
    HTTPServer(("127.0.0.1", int(port)), Health).serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        _serve(*sys.argv[1:])
