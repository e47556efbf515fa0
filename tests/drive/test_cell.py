"""A cell end to end, against a server on loopback whose script is known."""

import asyncio
import gc
import select
import time
from collections.abc import Coroutine, Sequence
from itertools import pairwise
from typing import Any

import pytest
import uvloop

from tests.drive.fake_server import (
    DONE,
    HEAD,
    LAST_CHUNK,
    FakeServer,
    Received,
    chunk,
    event,
    eventually,
    serving,
    silence,
    stream,
    together,
)
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.target import Target
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

MS = 1_000_000
LIMITS = Limits(request_seconds=20, silence_seconds=20)


def plan(count: int, *, output_tokens: int = 4, every_ms: float | None = None) -> list[PlannedRequest]:
    return [
        PlannedRequest(
            index=index,
            prompt=(1000 + index, 7, 7),
            output_tokens=output_tokens,
            offset_ns=None if every_ms is None else round(index * every_ms * MS),
        )
        for index in range(count)
    ]


async def drive(
    fake: FakeServer, planned: Sequence[PlannedRequest], load: Load, stop: asyncio.Event | None = None
) -> CellCapture:
    return await drive_cell([fake.target], planned, load, LIMITS, time.monotonic_ns(), stop=stop)


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Any:
    """Run a coroutine on the loop of choice."""

    def on_loop(main: Coroutine[Any, Any, None]) -> None:
        factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main)

    return on_loop


def test_times_follow_the_servers_schedule(run: Any) -> None:
    """TTFT holds the wait for the first chunk, every chunk has its own stamp, and nothing arrives early."""

    async def main() -> None:
        async with serving(stream(first_s=0.05, gap_s=0.01)) as fake:
            capture = await drive(fake, plan(3, output_tokens=5), Load(concurrency=3))

        for record in capture.records:
            assert record.succeeded
            assert record.sent_ns is not None
            assert record.first_byte_ns is not None
            assert record.finished_ns is not None
            # A client that is late reads several chunks at once, with the stamp of the last.
            assert all(at_ns - record.sent_ns >= (49 + 9 * nth) * MS for nth, at_ns in enumerate(record.chunk_ns))
            assert list(record.chunk_ns) == sorted(record.chunk_ns)
            assert list(record.chunk_tokens) == [1] * 5
            assert record.output_tokens == 5
            assert record.prompt_tokens == 3
            assert record.done_seen
            assert record.finish_reason == "length"
            assert record.scheduled_ns <= record.sent_ns <= record.first_byte_ns <= record.chunk_ns[0]
            assert record.chunk_ns[-1] <= record.finished_ns <= capture.finished_ns

    run(main())


def test_closed_loop_fills_its_streams_and_never_exceeds_them(run: Any) -> None:
    """The server sees exactly C at a time, over C connections, and a slot's next request is due at once."""

    async def main() -> None:
        async with serving(together(4, stream(first_s=0.004))) as fake:
            capture = await drive(fake, plan(20), Load(concurrency=4))

        assert fake.peak == 4
        assert fake.connections == 4
        assert [record.index for record in capture.records] == list(range(20))
        assert [record.scheduled_ns for record in capture.records[:4]] == [capture.started_ns] * 4
        finishes = {record.finished_ns for record in capture.records}
        assert {record.scheduled_ns for record in capture.records[4:]} <= finishes
        assert capture.health.send_lag_p99_ms is not None
        assert capture.late_connect_ns == {}

    run(main())


def test_a_burst_leaves_together(run: Any) -> None:
    """A hundred requests of one moment are all at the server before the first answer begins."""

    async def main() -> None:
        async with serving(together(100, stream())) as fake:
            capture = await drive(fake, plan(100, every_ms=0), Load(request_rate=1000))

        assert fake.peak == 100
        assert fake.connections == 100
        assert {record.scheduled_ns for record in capture.records} == {capture.started_ns}
        assert all(record.succeeded for record in capture.records)

    run(main())


def test_open_loop_keeps_its_schedule_while_answers_are_slow(run: Any) -> None:
    """Requests leave at their offsets although none has been answered yet."""

    async def main() -> None:
        async with serving(together(10, stream())) as fake:
            capture = await drive(fake, plan(10, every_ms=10), Load(request_rate=100))

        assert fake.peak == 10
        for record in capture.records:
            assert record.scheduled_ns == capture.started_ns + record.index * 10 * MS
            assert record.sent_ns is not None
            assert record.sent_ns >= record.scheduled_ns
        assert capture.health.send_lag_p99_ms is not None

    run(main())


def test_a_cap_holds_requests_back_and_their_wait_counts(run: Any) -> None:
    """With two slots and answers of 20 ms, the sixth request is sent two answers after its schedule."""

    async def main() -> None:
        async with serving(together(2, stream(first_s=0.02))) as fake:
            capture = await drive(fake, plan(6, every_ms=0), Load(request_rate=100, concurrency=2))

        last = capture.records[-1]
        assert fake.peak == 2
        assert last.sent_ns is not None
        assert last.scheduled_ns == capture.started_ns
        assert last.sent_ns - last.scheduled_ns >= 38 * MS

    run(main())


def test_targets_take_turns_and_are_named() -> None:
    """Round-robin by index, with the replica in the record."""

    async def main() -> None:
        async with serving(stream()) as first, serving(stream()) as second:
            targets = [
                Target("127.0.0.1", fake.port, "tiny", replica=name, api_key="s3cret")
                for fake, name in ((first, "a"), (second, "b"))
            ]
            capture = await drive_cell(targets, plan(6), Load(concurrency=2), LIMITS, 0)

        assert [record.replica for record in capture.records] == ["a", "b"] * 3
        assert sorted(request.body["prompt"][0] for request in first.received) == [1000, 1002, 1004]
        assert "Authorization: Bearer s3cret" in second.received[0].head

    uvloop.run(main())


def test_the_body_asks_for_equal_work() -> None:
    """Token ids, a forced length, no sampling, and usage with every chunk."""

    async def main() -> None:
        async with serving(stream()) as fake:
            await drive(fake, plan(1, output_tokens=7), Load(concurrency=1))

        assert fake.received[0].body == {
            "model": "tiny",
            "prompt": [1000, 7, 7],
            "max_tokens": 7,
            "ignore_eos": True,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }

    uvloop.run(main())


def test_stopping_keeps_what_is_finished_and_closes_what_is_not(run: Any) -> None:
    """Finished records stay, requests in flight are ``cancelled``, unsent ones leave none, sockets close."""

    async def first_answers_only(request: Received, writer: asyncio.StreamWriter) -> None:
        answer = stream() if request.body["prompt"][0] < 1002 else silence
        await answer(request, writer)

    async def main() -> None:
        stop = asyncio.Event()
        async with serving(first_answers_only) as fake:
            driving = asyncio.ensure_future(drive(fake, plan(9), Load(concurrency=2), stop))
            await eventually(lambda: len(fake.received) == 4)
            stop.set()
            capture = await driving
            await eventually(lambda: fake.open_connections == 0)

        assert capture.cancelled
        assert [record.error_code for record in capture.records] == [None, None, "cancelled", "cancelled"]
        assert fake.in_flight == 0

    run(main())


def test_cancelling_the_task_leaves_no_sockets_tasks_or_settings_behind(run: Any) -> None:
    """An outside cancellation passes through, after cleaning up."""

    async def main() -> None:
        async with serving(silence) as fake:
            driving = asyncio.ensure_future(drive(fake, plan(3), Load(concurrency=3)))
            await eventually(lambda: fake.in_flight == 3)
            assert not gc.isenabled()
            driving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await driving
            await eventually(lambda: fake.open_connections == 0)
        assert gc.isenabled()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())


def test_progress_ends_with_the_whole_truth() -> None:
    """Counts only grow, and the last call has every request."""
    told: list[tuple[int, int, int, int]] = []

    def progress(sent: int, finished: int, failed: int, chunks: int) -> None:
        told.append((sent, finished, failed, chunks))

    async def main() -> None:
        async with serving(stream(gap_s=0.02)) as fake:
            load = Load(concurrency=2)
            await drive_cell([fake.target], plan(4, output_tokens=6), load, LIMITS, 0, progress=progress)

    uvloop.run(main())

    assert told[-1][:3] == (4, 4, 0)
    assert told[-1][3] >= 4 * 6
    assert all(before <= after for one, two in pairwise(told) for before, after in zip(one, two, strict=True))
    assert len(told) > 1


def test_a_connection_that_the_server_closed_is_never_chosen() -> None:
    """A server that closes after each answer costs new connections, not failures."""

    async def answer_once(_request: Received, writer: asyncio.StreamWriter) -> None:
        whole = b"".join(chunk(event(usage=token, finish="length" if token == 4 else None)) for token in range(1, 5))
        writer.write(HEAD + whole + chunk(DONE) + LAST_CHUNK)
        writer.close()

    async def main() -> None:
        async with serving(answer_once) as fake:
            capture = await drive(fake, plan(5, every_ms=100), Load(request_rate=10))

        assert [record.error_code for record in capture.records] == [None] * 5
        assert fake.connections >= 5

    uvloop.run(main())


def test_bounded_memory_changes_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where raw answers outgrow their budget they are decoded during the cell, to the same records."""
    monkeypatch.setattr("whichbits.drive.sending.intake.BACKLOG_BYTES", 0)

    async def main() -> None:
        async with serving(stream()) as fake:
            capture = await drive(fake, plan(6), Load(concurrency=2))

        assert [record.error_code for record in capture.records] == [None] * 6
        assert [list(record.chunk_tokens) for record in capture.records] == [[1] * 4] * 6

    uvloop.run(main())


def test_a_wish_to_stop_does_not_wait_for_connections_that_nobody_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        driving = asyncio.ensure_future(
            drive_cell([Target("127.0.0.1", 9, "m")], plan(4), Load(concurrency=4), LIMITS, 0, stop=stop)
        )
        await asyncio.sleep(0.01)
        stop.set()
        capture = await asyncio.wait_for(driving, timeout=5)

        assert capture.cancelled
        assert {record.error_code for record in capture.records} <= {"cancelled"}

    monkeypatch.setattr("whichbits.drive.http.wire.Wire.advance", lambda _wire: select.EPOLLOUT)
    asyncio.run(main())
