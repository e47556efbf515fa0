"""A server is believed to sleep, or to be awake, only when it says so, and to free memory only where cards show it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from tests.e2e.paced_engine import plug_in
from whichbits.errors import BadInput, ServerNotReady
from whichbits.record.schema import Fact
from whichbits.serve.arm import RunningArm
from whichbits.serve.sleep import able_to_sleep, put_to_sleep, refuse_sleepless, wake
from whichbits.study.arm import Arm


class Sleeper:
    """vLLM's three endpoints; ``obeys`` False answers 200 and does nothing."""

    def __init__(self, *, obeys: bool = True, there: bool = True) -> None:
        self.obeys, self.there = obeys, there
        self.asleep = False
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if not self.there:
            return web.Response(status=404)
        if request.path == "/is_sleeping":
            return web.json_response({"is_sleeping": self.asleep})
        if self.obeys:
            self.asleep = request.path == "/sleep"
        return web.Response()


@asynccontextmanager
async def served(*sleepers: Sleeper, weights_gib: float = 1.0) -> AsyncIterator[RunningArm]:
    """An arm whose replicas are the sleepers."""
    runners = [await _start(sleeper) for sleeper in sleepers]
    replicas = [
        SimpleNamespace(name=str(at), control=SimpleNamespace(url=f"http://127.0.0.1:{runner.addresses[0][1]}"))
        for at, runner in enumerate(runners)
    ]
    facts = {"model_memory_gib": Fact(weights_gib, "server log")}
    record = SimpleNamespace(arm="fp8", replicas=[SimpleNamespace(facts=facts)] * len(sleepers))
    try:
        yield cast("RunningArm", SimpleNamespace(record=record, fleet=SimpleNamespace(replicas=replicas)))
    finally:
        for runner in runners:
            await runner.cleanup()


async def _start(sleeper: Sleeper) -> web.AppRunner:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", sleeper.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


def cards(*used_mib: float) -> Any:
    """What nvidia-smi says, time after time."""
    said: Iterator[float] = iter(used_mib)
    return lambda: next(said)


async def test_every_replica_sleeps_and_wakes() -> None:
    both = Sleeper(), Sleeper()
    async with served(*both) as running:
        slept = await put_to_sleep(running, cards(9000, 1000))
        assert [sleeper.asleep for sleeper in both] == [True, True]
        await wake(running)

    assert slept.freed_mib == 8000
    assert [sleeper.asleep for sleeper in both] == [False, False]
    assert both[0].asked == ["/sleep?level=1", "/is_sleeping", "/wake_up", "/is_sleeping"]


async def test_where_no_card_is_seen_memory_is_not_checked() -> None:
    async with served(Sleeper()) as running:
        assert (await put_to_sleep(running, lambda: None)).freed_mib is None


@pytest.mark.parametrize(("after", "code"), [(9000, "sleep_frees_nothing"), (8600, "sleep_frees_nothing")])
async def test_memory_that_stays_taken_is_no_sleep(after: float, code: str) -> None:
    async with served(Sleeper()) as running:
        with pytest.raises(ServerNotReady) as caught:
            await put_to_sleep(running, cards(9000, after))

    assert caught.value.code == code
    assert "fp8" in caught.value.what


@pytest.mark.parametrize("sleeper", [Sleeper(there=False), Sleeper(obeys=False)])
async def test_a_server_that_does_not_do_it_is_not_ready(sleeper: Sleeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.serve.sleep.PATIENCE_S", 0.3)
    async with served(sleeper) as running:
        with pytest.raises(ServerNotReady) as caught:
            await put_to_sleep(running, lambda: None)

    assert caught.value.code == "sleep_refused"


def arm(engine: str) -> Arm:
    return Arm(weight_format="fp16", model="any", engine=engine, options={"block_size": 16})


def test_engines_without_sleep_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch)
    with pytest.raises(BadInput, match="servers of embedded cannot be put to sleep"):
        refuse_sleepless("fp16", arm("embedded"))
    refuse_sleepless("fp16", arm("vllm"))
    refuse_sleepless("fp16", arm("paced"))


def test_the_engines_own_option_is_set() -> None:
    assert able_to_sleep(arm("vllm")).options == {"block_size": 16, "enable_sleep_mode": True}
    assert able_to_sleep(arm("embedded")).options == {"block_size": 16}
