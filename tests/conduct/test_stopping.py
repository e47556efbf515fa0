"""What is awaited ends when the user asks: nothing is lost, nothing runs on."""

import asyncio
import os
import signal

import pytest
import uvloop

from whichbits.conduct.stopping import Stopped, stop_on_signals, unless


async def after(delay_s: float, result: str = "done") -> str:
    await asyncio.sleep(delay_s)
    return result


async def test_without_a_stop_the_work_gives_its_result() -> None:
    assert await unless(asyncio.Event(), after(0)) == "done"
    assert len(asyncio.all_tasks()) == 1


async def test_an_error_of_the_work_comes_through() -> None:
    async def fail() -> None:
        raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        await unless(asyncio.Event(), fail())
    assert len(asyncio.all_tasks()) == 1


async def test_a_stop_cancels_the_work_and_waits_for_its_end() -> None:
    stop, ended = asyncio.Event(), []

    async def clean_up_slowly() -> None:
        try:
            stop.set()
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            ended.append(True)

    with pytest.raises(Stopped):
        await unless(stop, clean_up_slowly())
    assert ended == [True]
    assert len(asyncio.all_tasks()) == 1


async def test_after_a_stop_no_work_begins() -> None:
    stop, begun = asyncio.Event(), []
    stop.set()

    async def begin() -> None:
        begun.append(True)

    with pytest.raises(Stopped):
        await unless(stop, begin())
    assert begun == []


async def test_a_cancelled_caller_leaves_no_work_behind() -> None:
    caller = asyncio.create_task(unless(asyncio.Event(), after(3600)))
    await asyncio.sleep(0)
    caller.cancel()

    with pytest.raises(asyncio.CancelledError):
        await caller
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_signal_wakes_a_waiting_loop_and_a_second_one_is_borne(number: int, run: type) -> None:
    stop, before = asyncio.Event(), signal.getsignal(number)

    async def wait() -> None:
        asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), number)
        await unless(stop, after(3600))

    with stop_on_signals(stop):
        with pytest.raises(Stopped):
            run(wait())
        os.kill(os.getpid(), number)  # no loop runs any more
    assert signal.getsignal(number) is before


def test_a_closing_terminal_is_not_heard_under_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(asyncio.Event()):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
