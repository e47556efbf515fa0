"""The watch's own process: scrape every replica at a steady pace while a cell runs, and keep the raw texts.

    python watcher.py < ORDERS

Standard input holds JSON lines. The first says whom to watch: ``{"origin_ns", "interval_seconds", "targets": [{"arm",
"replica", "url", "bearer_variable", "ca_file", "proxy", "path"}]}``. Then come ``{"start": CELL}`` and ``{"pause":
true}``; each pause is answered by a line on standard output, see ``report``. The end of standard input, for whatever
reason, ends the process.

Times are CLOCK_MONOTONIC, which all processes of a host share, minus the run's origin. Standard library only, and run
by its path, it costs 40 ms of CPU to start; then 1.1 ms a scrape of 55 KB, so that two a second take 0.2% of a core for
each replica and 32 MB of disk an hour. At nice 5, a busy machine serves the load loop first.
"""

import base64
import errno
import gzip
import http.client
import json
import os
import ssl
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

SILENCE_SECONDS = 2.0
NICENESS = 5
_NS = 1_000_000_000
_COMPRESSION = 1  # of a vLLM page, half again as large as zlib's default makes it, at half the CPU


@dataclass
class Stretch:
    """One cell's watch over one replica: when it asks next, and how it went so far."""

    cell: int
    due_ns: int
    scrapes: int = 0
    failed: int = 0
    skipped: int = 0
    worst_ms: float | None = None
    error: str | None = None


class MetricsPage:
    """A server's /metrics over one kept connection."""

    def __init__(self, url: str, bearer: str | None, ca_file: str | None = None, proxy: str | None = None) -> None:
        parts = urlsplit(url)
        self._connection = _connection(url, ca_file, proxy)
        self._path = f"{parts.path.rstrip('/')}/metrics"
        self._headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
        if proxy is not None and parts.scheme == "http":
            self._path = f"http://{parts.netloc}{self._path}"
            self._headers |= _proxy_headers(proxy)

    def fetch(self) -> tuple[int, str]:
        """Return when the answer began to arrive, and its text.

        Raises OSError or HTTPException; the next call then begins with a new connection.
        """
        kept = self._connection.sock is not None
        try:
            return self._ask()
        except ConnectionError:
            if not kept:
                raise
        # The server had closed the idle connection; to ask twice changes nothing.
        return self._ask()

    def _ask(self) -> tuple[int, str]:
        try:
            self._connection.request("GET", self._path, headers=self._headers)
            answer = self._connection.getresponse()
            time_ns = time.monotonic_ns()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"HTTP {answer.status}")
        return time_ns, body.decode(errors="replace")


def _connection(url: str, ca_file: str | None, proxy: str | None) -> http.client.HTTPConnection:
    """Return a connection that is not open yet; through a proxy, TLS is spoken with the server at its far end."""
    server, first = urlsplit(url), urlsplit(proxy or url)
    if server.scheme != "https":
        return http.client.HTTPConnection(first.hostname or "", first.port, timeout=SILENCE_SECONDS)
    trust = ssl.create_default_context(cafile=ca_file)
    connection = http.client.HTTPSConnection(first.hostname or "", first.port, timeout=SILENCE_SECONDS, context=trust)
    if proxy is not None:
        connection.set_tunnel(server.hostname or "", server.port or 443, _proxy_headers(proxy))
    return connection


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    key = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(key).decode()}"}


class ReplicaWatch(threading.Thread):
    """Watches one replica; a thread of its own, so that one that hangs delays no other."""

    def __init__(self, target: dict[str, Any], origin_ns: int, interval_ns: int) -> None:
        super().__init__(daemon=True)
        variable = target["bearer_variable"]
        key = os.environ.get(variable, "").strip() if variable else ""
        self._page = MetricsPage(target["url"], key or None, target.get("ca_file"), target.get("proxy"))
        self._names = {"arm": target["arm"], "replica": target["replica"]}
        self._path = target["path"]
        self._origin_ns, self._interval_ns = origin_ns, interval_ns
        self._changed = threading.Condition()
        self._stretch: Stretch | None = None

    def begin(self, cell: int) -> None:
        with self._changed:
            self._stretch = Stretch(cell, time.monotonic_ns())
            self._changed.notify()

    def pause(self) -> Stretch | None:
        """End the stretch and return it; an answer that is still to come belongs to no cell and is dropped."""
        with self._changed:
            stretch, self._stretch = self._stretch, None
            if stretch is not None:
                stretch.skipped += self._beats_behind(stretch)
            return stretch

    def run(self) -> None:
        while True:
            self._scrape(self._next_beat())

    def _next_beat(self) -> Stretch:
        with self._changed:
            while (stretch := self._stretch) is None or (wait_ns := stretch.due_ns - time.monotonic_ns()) > 0:
                self._changed.wait(None if stretch is None else wait_ns / _NS)
            return stretch

    def _scrape(self, stretch: Stretch) -> None:
        asked_ns = time.monotonic_ns()
        try:
            time_ns, text = self._page.fetch()
            self._take(stretch, time_ns, text, took_ms=(time.monotonic_ns() - asked_ns) / 1e6)
        except (OSError, http.client.HTTPException) as error:
            stretch.failed += 1
            stretch.error = f"{self._names['replica']}: {error or type(error).__name__}"
        with self._changed:
            if self._stretch is stretch:
                # Beats that passed while the answer was awaited are skipped, not caught up with.
                behind = self._beats_behind(stretch)
                stretch.skipped += behind
                stretch.due_ns += (behind + 1) * self._interval_ns

    def _take(self, stretch: Stretch, time_ns: int, text: str, took_ms: float) -> None:
        with self._changed:
            if self._stretch is stretch:
                self._keep(stretch.cell, time_ns - self._origin_ns, text)
                stretch.scrapes += 1
                stretch.worst_ms = max(stretch.worst_ms or 0.0, took_ms)

    def _keep(self, cell: int, time_ns: int, text: str) -> None:
        scrape = {**self._names, "cell": cell, "phase": "during", "time_ns": time_ns, "text": text}
        line = json.dumps(scrape, ensure_ascii=False).encode() + b"\n"
        append(self._path, gzip.compress(line, _COMPRESSION, mtime=0))

    def _beats_behind(self, stretch: Stretch) -> int:
        return max(0, (time.monotonic_ns() - stretch.due_ns) // self._interval_ns)


def append(path: str, member: bytes) -> None:
    """Write all of ``member`` or nothing: what follows a torn one could not be read.

    Raises OSError if the disk is full.
    """
    with open(path, "ab", buffering=0) as file:  # noqa: PTH123 - pathlib is not needed for anything else
        end = file.seek(0, os.SEEK_END)
        written = file.write(member)
        if written < len(member):
            file.truncate(end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def report(cell: int | None, stretches: list[Stretch]) -> dict[str, Any]:
    """Return the sums over all replicas; ``worst_ms`` is null if no scrape came, ``error`` if none failed."""
    return {
        "cell": cell,
        "scrapes": sum(stretch.scrapes for stretch in stretches),
        "failed": sum(stretch.failed for stretch in stretches),
        "skipped": sum(stretch.skipped for stretch in stretches),
        "worst_ms": max((stretch.worst_ms for stretch in stretches if stretch.worst_ms is not None), default=None),
        "error": next((stretch.error for stretch in stretches if stretch.error is not None), None),
    }


def obey(orders: BinaryIO) -> None:
    """Carry out orders until they end."""
    setup = json.loads(orders.readline())
    interval_ns = round(setup["interval_seconds"] * _NS)
    watches = [ReplicaWatch(target, setup["origin_ns"], interval_ns) for target in setup["targets"]]
    for watch in watches:
        watch.start()
    cell: int | None = None
    for line in orders:
        order = json.loads(line)
        stretches = [stretch for watch in watches if (stretch := watch.pause()) is not None]
        if "start" in order:
            cell = order["start"]
            for watch in watches:
                watch.begin(order["start"])
        else:
            print(json.dumps(report(cell, stretches)), flush=True)


if __name__ == "__main__":
    os.nice(NICENESS)
    obey(sys.stdin.buffer)
