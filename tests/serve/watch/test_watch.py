"""The watch scrapes while a cell runs, in another process, and nothing that goes wrong there spoils a run."""

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.drive.fake_server import all_begun
from tests.serve.fake_server import survivors
from whichbits.record.scrapes import Scrape, during_path, read_scrapes
from whichbits.serve.process.server import free_ports
from whichbits.serve.watch.watch import Watch, WatchReport, WatchTarget
from whichbits.serve.watch.watcher import SILENCE_SECONDS

INTERVAL = 0.02


@dataclass
class Replica:
    """A server with a /metrics page; what it was asked, and over how many connections."""

    text: str = 'x_total{name="größe"} 1\n'
    status: int = 200
    seconds: float = 0.0
    url: str = ""
    asked: int = 0
    peers: set[object] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)

    async def metrics(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        self.asked += 1
        self.peers.add(request.transport.get_extra_info("peername"))
        self.headers = dict(request.headers)
        await asyncio.sleep(self.seconds)
        return web.Response(text=self.text, status=self.status)

    def target(self, name: str = "0", bearer_variable: str | None = None) -> WatchTarget:
        return WatchTarget("fp16", name, self.url, bearer_variable)


@asynccontextmanager
async def serving(replica: Replica, tls: ssl.SSLContext | None = None) -> AsyncIterator[Replica]:
    app = web.Application()
    app.router.add_get("/metrics", replica.metrics)
    server = TestServer(app, scheme="http" if tls is None else "https")
    await server.start_server(ssl=tls)
    async with server:
        replica.url = str(server.make_url("")).rstrip("/")
        yield replica
        await all_begun()


@pytest.fixture
async def replica() -> AsyncIterator[Replica]:
    async with serving(Replica()) as one:
        yield one


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.005)


async def watch_until(watch: Watch, cell: int, condition: Callable[[], bool]) -> WatchReport:
    await watch.begin(cell)
    await until(condition)
    return await watch.pause()


async def first_outcome(watch: Watch) -> WatchReport:
    """The report of the first cell that lasted until anything came of it."""
    async with asyncio.timeout(60):
        while True:
            await watch.begin(0)
            await asyncio.sleep(5 * INTERVAL)
            report = await watch.pause()
            if report.scrapes or report.failed:
                return report


async def test_each_scrape_has_its_cell_its_text_and_a_time_within_the_cell(tmp_path: Path, replica: Replica) -> None:
    """Both processes read the same clock: every time lies between begin and pause, as this process saw them."""
    origin_ns = time.monotonic_ns() - 5_000_000_000
    spans: list[tuple[int, int]] = []
    reports = []
    async with Watch([replica.target()], tmp_path, origin_ns, INTERVAL) as watch:
        for cell in (4, 9):
            began_ns, already = time.monotonic_ns(), replica.asked
            reports.append(await watch_until(watch, cell, lambda: replica.asked >= already + 6))  # noqa: B023
            spans.append((began_ns - origin_ns, time.monotonic_ns() - origin_ns))

    for report, (began_ns, ended_ns), cell in zip(reports, spans, (4, 9), strict=True):
        scrapes = [scrape for scrape in read_scrapes(tmp_path) if scrape.cell == cell]
        assert len(scrapes) == report.scrapes
        assert 5 <= len(scrapes) <= 1 + (ended_ns - began_ns) / (INTERVAL * 1e9)
        assert (report.cell, report.failed, report.error) == (cell, 0, None)
        assert report.worst_ms is not None
        assert all(began_ns <= scrape.time_ns <= ended_ns for scrape in scrapes)
        assert all(one.time_ns < two.time_ns for one, two in pairwise(scrapes))
        assert {replace(one, time_ns=0) for one in scrapes} == {
            Scrape("fp16", "0", cell, "during", time_ns=0, text=replica.text)
        }


async def test_between_cells_nobody_is_asked_and_the_connection_is_kept(tmp_path: Path, replica: Replica) -> None:
    async with Watch([replica.target()], tmp_path, 0, INTERVAL) as watch:
        await watch_until(watch, 0, lambda: replica.asked >= 3)
        asked = replica.asked
        await asyncio.sleep(8 * INTERVAL)
        assert replica.asked <= asked + 1  # one may have been under way when the watch was paused
        await watch_until(watch, 1, lambda: replica.asked >= asked + 3)

    assert len(replica.peers) == 1


async def test_a_replica_that_hangs_delays_no_other(tmp_path: Path, replica: Replica) -> None:
    async with serving(Replica(seconds=3600)) as hanging:
        targets = [hanging.target("hangs"), replica.target("good")]
        async with Watch(targets, tmp_path, 0, INTERVAL) as watch:
            began = time.monotonic()
            report = await watch_until(watch, 0, lambda: replica.asked >= 10)
            seconds = time.monotonic() - began

    assert 1 <= hanging.asked <= 1 + seconds / SILENCE_SECONDS
    assert {scrape.replica for scrape in read_scrapes(tmp_path)} == {"good"}
    assert report.scrapes is not None
    assert report.skipped is not None
    assert report.scrapes >= 9
    assert report.skipped >= 5  # the beats that the hanging replica missed


async def test_a_slow_replica_skips_beats_and_never_catches_up(tmp_path: Path) -> None:
    """An answer takes five beats: the first is a scrape, the other four are skipped, and none counts twice."""
    async with serving(Replica(seconds=5 * INTERVAL)) as slow, Watch([slow.target()], tmp_path, 0, INTERVAL) as watch:
        began_ns = time.monotonic_ns()
        report = await watch_until(watch, 0, lambda: slow.asked >= 4)
        beats = 1 + (time.monotonic_ns() - began_ns) / (INTERVAL * 1e9)

    assert report.scrapes is not None
    assert report.skipped is not None
    assert report.skipped >= 4 * report.scrapes >= 12
    assert report.scrapes + report.skipped <= beats


async def test_a_server_that_closes_idle_connections_is_scraped_all_the_same(tmp_path: Path) -> None:
    """It promises to keep the connection and closes it at once: the next scrape finds that out and asks anew."""
    answered = 0

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nx 1\n")
        answered += 1
        writer.close()

    server = await asyncio.start_server(answer_once, "127.0.0.1", 0)
    target = WatchTarget("fp16", "0", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server, Watch([target], tmp_path, 0, INTERVAL) as watch:
        report = await watch_until(watch, 0, lambda: answered >= 5)
        await all_begun()

    assert (report.failed, report.error) == (0, None)
    assert len(read_scrapes(tmp_path)) == report.scrapes


async def test_an_answer_other_than_200_is_counted_and_not_kept(tmp_path: Path) -> None:
    async with serving(Replica(status=503)) as replica, Watch([replica.target()], tmp_path, 0, INTERVAL) as watch:
        report = await watch_until(watch, 0, lambda: replica.asked >= 4)

    assert (report.scrapes, report.worst_ms, report.error) == (0, None, "0: HTTP 503")
    assert report.failed is not None
    assert report.failed >= 3
    assert read_scrapes(tmp_path) == []


async def test_a_server_that_is_not_there_is_counted(tmp_path: Path) -> None:
    target = WatchTarget("fp16", "0", f"http://127.0.0.1:{free_ports(1)[0]}")
    async with Watch([target], tmp_path, 0, INTERVAL) as watch:
        report = await first_outcome(watch)

    assert report.scrapes == 0
    assert report.failed
    assert report.error is not None
    assert "refused" in report.error


async def test_a_kill_loses_the_torn_tail_and_the_next_cell_is_watched_again(tmp_path: Path, replica: Replica) -> None:
    path = during_path(tmp_path, "fp16", "0")
    async with Watch([replica.target()], tmp_path, 0, INTERVAL) as watch:
        await watch.begin(0)
        await until(lambda: replica.asked >= 5)
        assert watch.pid is not None
        os.kill(watch.pid, signal.SIGKILL)
        lost = await watch.pause()
        kept = read_scrapes(tmp_path)
        with path.open("ab") as file:
            file.write(path.read_bytes()[:40])  # a member of which no more was written
        assert read_scrapes(tmp_path) == kept
        again = await watch_until(watch, 1, lambda: replica.asked >= 10)

    assert (lost.scrapes, lost.failed, lost.skipped) == (None, None, None)
    assert lost.error == "the watch ended with exit code -9"
    assert len(kept) >= 4
    assert [scrape.cell for scrape in read_scrapes(tmp_path)] == [0] * len(kept) + [1] * (again.scrapes or 0)


async def test_the_key_comes_from_the_environment(
    tmp_path: Path, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "s3cret")
    async with Watch([replica.target(bearer_variable="A_KEY")], tmp_path, 0, INTERVAL) as watch:
        await watch_until(watch, 0, lambda: replica.asked >= 1)
        command = psutil.Process(watch.pid).cmdline()

    assert replica.headers["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in " ".join(command)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody but its holder has signed, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    made, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(made)),
        ],
        check=True,
        capture_output=True,
    )
    made.write_bytes(made.read_bytes() + key.read_bytes())
    return made


@pytest.mark.parametrize("trusted", [True, False])
async def test_tls_is_spoken_and_a_stranger_is_not_trusted(
    tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with serving(Replica(), tls) as replica, Watch([replica.target()], tmp_path, 0, INTERVAL) as watch:
        assert replica.url.startswith("https://")
        report = await first_outcome(watch)

    assert bool(report.scrapes) is trusted
    assert ("CERTIFICATE_VERIFY_FAILED" in (report.error or "")) is not trusted


async def test_a_crash_is_told_in_its_own_words(tmp_path: Path) -> None:
    async with Watch([WatchTarget("fp16", "0", "http://127.0.0.1:port")], tmp_path, 0, INTERVAL) as watch:
        await watch.begin(0)
        report = await watch.pause()

    assert report.scrapes is None
    assert report.error is not None
    assert "'port'" in report.error


async def test_leaving_the_watch_ends_its_process(tmp_path: Path, replica: Replica) -> None:
    async with Watch([replica.target()], tmp_path, 0, INTERVAL) as watch:
        await watch.begin(0)
        await until(lambda: replica.asked >= 1)
        assert watch.pid is not None
        pid = watch.pid

    assert survivors([pid], 0) == []


OWNER = """
import asyncio, sys
from pathlib import Path
from whichbits.serve.watch.watch import Watch, WatchTarget

async def main():
    async with Watch([WatchTarget("a", "0", "http://127.0.0.1:1")], Path(sys.argv[1]), 0, 0.02) as watch:
        await watch.begin(0)
        print(watch.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def test_it_ends_with_its_owner_however_that_ends(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        watcher = int(owner.stdout.readline())
        owner.kill()

    assert survivors([watcher], 10) == []
