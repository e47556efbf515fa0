"""Waiting ends with an answer or with the server's own words, never with silence."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.serve.fake_server import command
from whichbits.errors import ServerNotReady
from whichbits.serve.process import ServerProcess, free_ports
from whichbits.serve.ready import last_lines, wait_until_ready


def no_cause(log_text: str) -> str | None:
    return None


async def wait(folder: Path, *behaviour: str, failure: Callable[[str], str | None] = no_cause) -> float:
    """Start a fake server, wait for it half a minute at most (a silent one: half a second), and stop it."""
    (port,) = free_ports(1)
    async with AsyncExitStack() as stack:
        server = ServerProcess(command(port, folder / "pids", *behaviour), {}, folder / "log", grace_seconds=0.5)
        stack.push_async_callback(server.stop)
        within_seconds = 0.5 if "silent" in behaviour else 30.0
        url = f"http://127.0.0.1:{port}/health"
        return await wait_until_ready(server, url, within_seconds=within_seconds, failure=failure)


async def test_ready_when_health_says_200(tmp_path: Path) -> None:
    assert 0 < await wait(tmp_path) < 30


async def test_a_death_quotes_the_cause_that_the_engine_finds(tmp_path: Path) -> None:
    with pytest.raises(ServerNotReady, match="exit code 7") as refused:
        await wait(tmp_path, "dies", failure=lambda log: log.splitlines()[1])

    assert refused.value.why == "RuntimeError: the weights are not there"
    assert str(tmp_path / "log") in refused.value.fix


async def test_a_death_of_unknown_cause_quotes_the_last_lines(tmp_path: Path) -> None:
    with pytest.raises(ServerNotReady) as refused:
        await wait(tmp_path, "dies")

    assert refused.value.why.split("\n    ") == [
        "loading",
        "RuntimeError: the weights are not there",
        "see above",
    ]


async def test_a_timeout_quotes_the_last_line(tmp_path: Path) -> None:
    with pytest.raises(ServerNotReady, match=r"not ready within 0\.5 s") as refused:
        await wait(tmp_path, "silent")

    assert "loading shard 1 of 2" in refused.value.why


def test_last_lines_are_what_a_person_would_see() -> None:
    log_text = "\x1b[36mINFO\x1b[0m start\n\n  0%|   |\r 50%|## |\r100%|###|\r\n-----\n"

    assert last_lines(log_text, 2) == ("INFO start", "100%|###|")
