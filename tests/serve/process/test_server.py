"""A server process ends when asked, and when its owner or its leash is killed."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.serve.fake_server import command, survivors, wait_for_pids
from whichbits.serve.process import server as process_server
from whichbits.serve.process.server import ServerProcess, free_ports

OWNER = """
import os, sys, time
from pathlib import Path
from whichbits.serve.process.server import ServerProcess
log, fork, *argv = sys.argv[1:]
server = ServerProcess(argv, {}, Path(log), grace_seconds=0.3)
if fork == "forks" and os.fork() == 0:
    time.sleep(60)  # holds a copy of the leash's pipe, as a forked worker would
    os._exit(0)
time.sleep(60)
"""


async def test_stop_ends_all_and_may_be_called_again(tmp_path: Path) -> None:
    server = ServerProcess(command(0, tmp_path / "pids", "daemon", "deaf"), {}, tmp_path / "log", grace_seconds=0.2)
    pids = wait_for_pids(tmp_path / "pids", 2)
    assert server.returncode is None

    await asyncio.gather(server.stop(), server.stop())
    await server.stop()

    assert survivors(pids, 0) == []
    assert server.returncode == 128 + signal.SIGKILL


async def test_a_cancelled_stop_still_ends_the_server_before_it_returns(tmp_path: Path) -> None:
    server = ServerProcess(command(0, tmp_path / "pids", "deaf"), {}, tmp_path / "log", grace_seconds=0.3)
    pids = wait_for_pids(tmp_path / "pids", 1)
    stop = asyncio.create_task(server.stop())
    await asyncio.sleep(0)

    stop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stop

    assert survivors(pids, 0) == []


async def test_a_killed_leash_takes_the_server_along_and_stop_finds_the_strays(tmp_path: Path) -> None:
    server = ServerProcess(command(0, tmp_path / "pids", "daemon"), {}, tmp_path / "log")
    daemon, main = wait_for_pids(tmp_path / "pids", 2)

    os.kill(server.leash_pid, signal.SIGKILL)
    assert survivors([main]) == []

    await server.stop()
    assert survivors([daemon]) == []


async def test_a_killed_leash_leaves_no_stray_that_lost_its_environment(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    shell = f"sleep 60 & echo $! >> {pids}; env -i sleep 60 & echo $! >> {pids}; wait"
    server = ServerProcess(["sh", "-c", shell], {}, tmp_path / "log")
    strays = wait_for_pids(pids, 2)

    os.kill(server.leash_pid, signal.SIGKILL)
    await server.stop()

    assert survivors(strays) == []


@pytest.mark.parametrize("fork", ["forks", "alone"])
def test_the_server_is_gone_soon_after_its_owner_was_killed(tmp_path: Path, fork: str) -> None:
    argv = command(0, tmp_path / "pids", "daemon")
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path / "log"), fork, *argv], start_new_session=True)
    pids = wait_for_pids(tmp_path / "pids", 2)

    owner.kill()
    owner.wait()
    left = survivors(pids, 40)
    with suppress(ProcessLookupError):
        os.killpg(owner.pid, signal.SIGKILL)  # the forked one

    assert left == []


def test_ctrl_c_reaches_the_owner_and_not_the_server(tmp_path: Path) -> None:
    argv = [
        "sh",
        "-c",
        f"trap 'echo interrupted' INT; echo $$ > {tmp_path}/pids; while :; do sleep 0.05; done",
    ]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "log"), "alone", *argv],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    pids = wait_for_pids(tmp_path / "pids", 1)

    os.killpg(owner.pid, signal.SIGINT)
    owner.wait(60)

    assert survivors(pids) == []
    assert "interrupted" not in (tmp_path / "log").read_text()


async def test_the_log_text_is_only_what_this_process_wrote(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"

    for words in ("first", "second"):
        server = ServerProcess(["sh", "-c", f"echo {words}; echo $$ > {tmp_path / words}; sleep 60"], {}, log)
        wait_for_pids(tmp_path / words, 1)
        await server.stop()

    assert server.log_text() == "second\n"
    assert log.read_text() == "first\nsecond\n"


def test_ports_are_distinct_and_none_that_the_system_gives_by_itself() -> None:
    ports = free_ports(50)

    assert len(set(ports)) == 50
    assert all(20_000 <= port < 30_000 for port in ports)


def test_where_all_such_ports_are_taken_the_system_gives_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(process_server, "_PORTS", (taken.getsockname()[1],))
        (port,) = free_ports(1)

    assert port not in process_server._PORTS
