"""Waiting ends with an answer or with the server's own words, never with silence."""

import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.serve.fake_engine_server import answering
from tests.serve.fake_server import command
from whichbits.errors import ServerNotReady, in_one_line
from whichbits.serve.endpoint import ready
from whichbits.serve.endpoint.ready import last_lines, wait_until_ready, why_unhealthy
from whichbits.serve.process.server import ServerProcess, free_ports


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


async def test_statistics_and_single_requests_are_no_last_words(tmp_path: Path) -> None:
    with pytest.raises(ServerNotReady) as refused:
        await wait(tmp_path, "dies", "chatters")

    assert refused.value.why.split("\n    ") == ["loading", "RuntimeError: the weights are not there", "see above"]


def test_a_note_is_one_short_line() -> None:
    long = ServerNotReady("server_died", "the server ended", why="first cause\n    " + "and more " * 60, fix="look")

    assert in_one_line(long).startswith("the server ended: first cause and more")
    assert len(in_one_line(long)) <= 240
    assert in_one_line(long).endswith(" …")


async def test_a_log_is_named_as_it_lies_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServerNotReady) as refused:
        await wait(tmp_path, "dies")

    assert refused.value.fix == "read the whole log: log"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_each_step_of_a_failed_connection_has_its_own_words(scheme: str) -> None:
    """Nobody at the port, another path, TLS asked of a server that has none: three different things to mend."""
    (free,) = free_ports(1)
    refused = await why_unhealthy(f"{scheme}://127.0.0.1:{free}/health", within_seconds=0)
    with answering({"/v1/models": {}}) as (url, _):
        elsewhere = await why_unhealthy(url.replace("http", scheme, 1) + "/health", within_seconds=0)

    assert (refused or "").startswith("connection refused: nothing listens")
    expected = {"http": "it answers, but 404 at /health: is it another engine", "https": "it does not speak TLS"}
    assert (elsewhere or "").startswith(expected[scheme])


async def test_a_port_that_stays_silent_is_told_from_one_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "_PROBE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        hangs = await why_unhealthy(f"http://127.0.0.1:{port}/health", within_seconds=0)

    assert (hangs or "").startswith("no answer within 0.1 s")
