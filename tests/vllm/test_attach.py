"""A real vLLM that somebody else started: found, read, driven, and left alone."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.tool import AS_INSTALLED, run_of, states, tool
from tests.vllm.studies import ENVIRONMENT, arm, write_study
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.target import Target
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.ready import wait_until_ready
from whichbits.serve.engine import Place
from whichbits.serve.metrics import read_counters
from whichbits.serve.process.server import ServerProcess, free_ports
from whichbits.serve.vllm.engine import VllmEngine
from whichbits.study.arm import Arm
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

pytestmark = pytest.mark.vllm

_PROMPT = tuple(range(100, 200))


@pytest.fixture(scope="module")
def running_server(
    tmp_path_factory: pytest.TempPathFactory, vllm_python: Path, model: Path
) -> Iterator[tuple[str, ServerProcess]]:
    """Its address and its process."""
    log = tmp_path_factory.mktemp("attach") / "vllm.log"
    asked = Arm.model_validate(arm(vllm_python, model))
    engine, place = VllmEngine(), Place("127.0.0.1", free_ports(1)[0])
    launch = engine.command(asked, engine.prepare(asked), place)
    process = ServerProcess(launch.argv, launch.environment | ENVIRONMENT, log)
    url = f"http://{place.host}:{place.port}"
    try:
        asyncio.run(wait_until_ready(process, f"{url}/health", within_seconds=600, failure=engine.failure))
        yield url, process
    finally:
        asyncio.run(process.stop())


def test_a_running_server_is_driven_read_and_left_alone(
    tmp_path: Path, running_server: tuple[str, ServerProcess], model: Path
) -> None:
    url, process = running_server
    target = {"urls": [url], "logs": [str(process.log)]}
    attached = {"weight_format": "bf16", "engine": "vllm", "model": str(model), "target": target}
    with tool(tmp_path, "run", write_study(tmp_path, {"running": attached}), program=AS_INSTALLED) as running:
        assert running.wait() in (0, 6)
    run = run_of(tmp_path)
    (replica,) = run.manifest.arms["running"].replicas

    assert states(run) == ["done"]
    assert run.cells[0].cache_state == "reset"
    assert run.cells[0].failed == 0
    assert (replica.url, replica.command, replica.ready_seconds) == (url, (), None)
    assert replica.facts["enforce_eager"].source == "server log"
    assert replica.facts["max_num_seqs"].source.startswith("GET /server_info")
    assert "books_disagree" not in (run.folder / "summary.json").read_text()
    assert process.returncode is None


async def test_only_a_reset_makes_a_repeated_prompt_cold(running_server: tuple[str, ServerProcess]) -> None:
    url, _ = running_server
    async with ControlClient(url) as control:
        (name,) = await control.models()
        assert (await control.reset_prefix_cache()).succeeded is True
        cached = [await _hits(control, url, name) for _ in range(2)]
        assert (await control.reset_prefix_cache()).succeeded is True
        cached.append(await _hits(control, url, name))

    assert cached == [0, 96, 0]  # three whole blocks of 32 of its 100 tokens


def test_a_server_that_hangs_is_not_attached_to(
    tmp_path: Path, running_server: tuple[str, ServerProcess], model: Path
) -> None:
    url, process = running_server
    attached = {"weight_format": "bf16", "engine": "vllm", "model": str(model), "target": url}
    front_end = _front_end(process)
    os.kill(front_end, signal.SIGSTOP)
    try:
        with tool(tmp_path, "run", write_study(tmp_path, {"running": attached}), program=AS_INSTALLED) as running:
            assert running.wait() == 3
            assert f"{url}/health does not answer 200" in running.stderr
    finally:
        os.kill(front_end, signal.SIGCONT)


async def _hits(control: ControlClient, url: str, name: str) -> int:
    """Send one request; return the prompt tokens that the server then counts as cached."""
    before = await _cached(control)
    capture = await _send(url, name)
    assert [record.succeeded for record in capture.records] == [True]
    return await _cached(control) - before


async def _send(url: str, name: str) -> CellCapture:
    host, _, port = url.removeprefix("http://").partition(":")
    targets = [Target(host, int(port), name)]
    return await drive_cell(targets, [PlannedRequest(0, _PROMPT, 4, None)], Load(concurrency=1), Limits(), 0)


async def _cached(control: ControlClient) -> int:
    return read_counters((await control.scrape()).text).prefix_hit_tokens or 0


def _front_end(process: ServerProcess) -> int:
    (child,) = psutil.Process(process.leash_pid).children()
    return child.pid
