"""Several workers send one cell as one would, and nobody's death loses what others did."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
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
    raw,
    serving,
    silence,
    stream,
    together,
)
from whichbits.drive.cell import CellCapture, capture_cell, drive_cell
from whichbits.drive.crew import service
from whichbits.drive.crew.crew import Crew
from whichbits.drive.crew.hire import in_a_thread
from whichbits.drive.part import CellPart, Lead, PartReport
from whichbits.errors import BadInput, ClientFailed
from whichbits.record.parts import records_in
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

MS = 1_000_000
LIMITS = Limits(request_seconds=20, silence_seconds=20)
PATIENCE_S = 120
"""For what takes a moment: only a fault takes so long."""


def plan(count: int, *, output_tokens: int = 4, every_ms: float | None = None) -> list[PlannedRequest]:
    offsets = [None if every_ms is None else round(index * every_ms * MS) for index in range(count)]
    return [PlannedRequest(index, (1000 + index, 7, 7), output_tokens, offsets[index]) for index in range(count)]


def indices(fake: FakeServer) -> list[int]:
    return sorted(request.body["prompt"][0] - 1000 for request in fake.received)


@pytest.fixture(scope="module")
def processes() -> Iterator[Crew]:
    with Crew(2) as hired:
        yield hired


@pytest.fixture(params=["threads", "processes"])
def crew(request: pytest.FixtureRequest) -> Iterator[Crew]:
    """Two workers: threads of this test's own, or processes that serve one test after the other."""
    if request.param == "processes":
        yield request.getfixturevalue("processes")
        return
    with Crew(2, in_a_thread) as hired:
        yield hired


async def test_two_workers_send_exactly_the_plan_once(crew: Crew) -> None:
    async with serving(together(3, stream(first_s=0.01))) as fake:
        capture = await drive_cell([fake.target], plan(11), Load(concurrency=3), LIMITS, 0, crew=crew)

    assert len(crew.hired) == 2
    assert indices(fake) == list(range(11))
    assert fake.peak == 3
    assert [record.index for record in capture.records] == list(range(11))
    assert all(record.succeeded for record in capture.records)
    assert capture.tally.requests == 11
    assert capture.tally.output_tokens == 44
    assert capture.health.workers == 2


async def test_arrivals_keep_their_offsets_whoever_sends_them(crew: Crew) -> None:
    async with serving(stream()) as fake:
        capture = await drive_cell(
            [fake.target], plan(10, every_ms=8), Load(request_rate=125), LIMITS, time.monotonic_ns(), crew=crew
        )

    for record in capture.records:
        assert record.scheduled_ns == capture.started_ns + record.index * 8 * MS
        assert record.sent_ns is not None
        assert record.sent_ns >= record.scheduled_ns
    assert capture.health.requested_rate == pytest.approx(125)
    assert capture.health.achieved_rate is not None


async def test_a_burst_of_all_workers_leaves_together(processes: Crew) -> None:
    """One common start, at which all have connected and no answer is waited for; nobody sends before it."""
    connected = []

    async def at_once(request: Received, writer: asyncio.StreamWriter) -> None:
        connected.append(fake.open_connections)
        await both(request, writer)

    for _ in range(5):
        both = together(2, stream())
        async with serving(at_once) as fake:
            capture = await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=processes)
        arrivals = [request.at_ns for request in fake.received]
        assert [record.scheduled_ns for record in capture.records] == [capture.started_ns] * 2
        assert all(capture.started_ns <= at_ns for at_ns in arrivals)
        assert all(capture.started_ns <= (record.sent_ns or 0) for record in capture.records)

    assert connected == [2] * 10


async def test_one_crew_serves_many_cells(crew: Crew) -> None:
    async with serving(stream()) as fake:
        for count in (4, 1, 6):
            await drive_cell([fake.target], plan(count), Load(concurrency=2), LIMITS, 0, crew=crew)
            hired = crew.hired

    assert len(fake.received) == 11
    assert crew.hired == hired
    assert len(hired) == 2


async def stopped(crew: Crew) -> CellCapture:
    """Stop a cell whose first two requests were answered and whose next two hang, one at each worker."""

    async def first_answers_only(request: Received, writer: asyncio.StreamWriter) -> None:
        await (stream() if request.body["prompt"][0] < 1002 else silence)(request, writer)

    stop = asyncio.Event()
    async with serving(first_answers_only) as fake:
        driving = asyncio.ensure_future(
            drive_cell([fake.target], plan(9), Load(concurrency=2), LIMITS, 0, stop=stop, crew=crew)
        )
        await eventually(lambda: len(fake.received) == 4)
        stop.set()
        capture = await driving
        await eventually(lambda: fake.open_connections == 0)
    return capture


async def test_a_stop_reaches_every_worker(crew: Crew) -> None:
    capture = await stopped(crew)

    assert capture.cancelled
    assert capture.failure is None
    assert [record.error_code for record in capture.records] == [None, None, "cancelled", "cancelled"]


async def test_a_stop_before_the_first_send_sends_nothing(crew: Crew) -> None:
    stop = asyncio.Event()
    stop.set()
    async with serving(stream()) as fake:
        capture = await drive_cell([fake.target], plan(4), Load(concurrency=2), LIMITS, 0, stop=stop, crew=crew)

    assert capture.cancelled
    assert capture.records == ()
    assert fake.received == []


async def test_a_cancelled_caller_leaves_workers_that_serve_the_next_cell(crew: Crew) -> None:
    async with serving(silence) as fake:
        driving = asyncio.ensure_future(drive_cell([fake.target], plan(4), Load(concurrency=4), LIMITS, 0, crew=crew))
        await eventually(lambda: fake.in_flight == 4)
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving
        await eventually(lambda: fake.open_connections == 0)
    hired = crew.hired
    async with serving(stream()) as fake:
        capture = await drive_cell([fake.target], plan(4), Load(concurrency=4), LIMITS, 0, crew=crew)

    assert crew.hired == hired
    assert [record.error_code for record in capture.records] == [None] * 4


async def test_requests_lie_on_disk_and_not_in_memory(crew: Crew, tmp_path: Path) -> None:
    """Each worker writes its own file; together they hold the plan, and the lead holds counts."""
    async with serving(stream()) as fake:
        capture = await drive_cell(
            [fake.target],
            plan(6, output_tokens=50),
            Load(concurrency=2),
            LIMITS,
            0,
            crew=crew,
            records=lambda number: tmp_path / f"{number}.arrows",
        )

    assert capture.records == ()
    assert capture.parts == (tmp_path / "0.arrows", tmp_path / "1.arrows")
    assert [[record.index for record in records_in([part])] for part in capture.parts] == [[0, 2, 4], [1, 3, 5]]
    assert [record.output_tokens for record in records_in(capture.parts)] == [50] * 6
    assert capture.tally.output_tokens == 300


async def test_timelines_do_not_live_in_the_lead(processes: Crew, tmp_path: Path) -> None:
    """200,000 chunks: on disk all of them, with the lead a hundredth of what they take."""
    events = b"".join(event("x", finish="length" if n == 1000 else None, usage=n) for n in range(1, 1001))
    answer = raw(HEAD + chunk(events + DONE) + LAST_CHUNK)
    async with serving(answer) as fake:
        capture = await drive_cell(
            [fake.target],
            plan(200, output_tokens=1000),
            Load(concurrency=4),
            LIMITS,
            0,
            crew=processes,
            records=lambda number: tmp_path / f"{number}.arrows",
        )

    assert capture.tally.output_tokens == 200_000
    assert sum(len(record.chunk_ns) for record in records_in(capture.parts)) == 200_000
    assert len(pickle.dumps(capture)) < 200_000 * 12 / 100


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_long_orders_and_long_reports_arrive_whole(run: Any) -> None:
    """Megabytes both ways, beyond any socket's buffer."""
    events = b"".join(event("x", finish="length" if n == 500 else None, usage=n) for n in range(1, 501))
    planned = [replace(request, prompt=(5,) * 10_000) for request in plan(200, output_tokens=500)]

    async def main() -> CellCapture:
        async with serving(raw(HEAD + chunk(events + DONE) + LAST_CHUNK)) as fake:
            with Crew(2, in_a_thread) as crew:
                return await drive_cell([fake.target], planned, Load(concurrency=8), LIMITS, 0, crew=crew)

    capture = run(main())

    assert [len(record.chunk_ns) for record in capture.records] == [500] * 200


async def test_a_killed_worker_is_one_error_and_loses_only_its_own(tmp_path: Path) -> None:
    """The other's requests are kept, with those in flight as cancelled, and the next cell gets a new worker."""

    async def even_answer(request: Received, writer: asyncio.StreamWriter) -> None:
        await (silence if request.body["prompt"][0] >= 1004 else stream())(request, writer)

    with Crew(2) as crew:
        async with serving(even_answer) as fake:
            driving = asyncio.ensure_future(
                capture_cell(
                    [fake.target],
                    plan(8),
                    Load(concurrency=2),
                    LIMITS,
                    0,
                    crew=crew,
                    records=lambda number: tmp_path / f"{number}.arrows",
                )
            )
            # Both workers wait for an answer that does not come: all that was answered is over.
            await eventually(lambda: {1004, 1005} <= {request.body["prompt"][0] for request in fake.received})
            killed = crew.hired[1].pid
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            capture = await asyncio.wait_for(driving, timeout=PATIENCE_S)
        left = {record.index: record.error_code for record in records_in(capture.parts)}
        async with serving(stream()) as fake:
            again = await drive_cell([fake.target], plan(4), Load(concurrency=2), LIMITS, 0, crew=crew)

    assert capture.cancelled
    assert capture.failure is not None
    assert capture.failure.code == "client_worker_lost"
    assert "worker 1 killed by signal 9" in capture.failure.what
    assert {index: code for index, code in left.items() if index % 2 == 0} == {0: None, 2: None, 4: "cancelled"}
    assert capture.tally.requests == len(left)
    assert again.tally.requests == 4


async def test_a_worker_that_hangs_does_not_keep_the_user_who_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.crew.leading.END_SECONDS", 0.3)
    monkeypatch.setattr("whichbits.drive.crew.hire._LEAVE_SECONDS", 0.1)
    stop = asyncio.Event()
    with Crew(2) as crew:
        async with serving(silence) as fake:
            driving = asyncio.ensure_future(
                capture_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, stop=stop, crew=crew)
            )
            await eventually(lambda: len(fake.received) == 2)
            hung = psutil.Process(crew.hired[0].pid)
            hung.suspend()
            stop.set()
            capture = await asyncio.wait_for(driving, PATIENCE_S)

    assert capture.failure is not None
    # On a busy machine the other may not be in time, either, and is named behind it.
    assert "worker 0 did not end within 0.3 s" in capture.failure.what
    assert not hung.is_running()


async def test_a_worker_that_hangs_is_lost_when_it_has_been_silent_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.crew.leading.SILENT_SECONDS", 1.0)
    monkeypatch.setattr("whichbits.drive.crew.hire._LEAVE_SECONDS", 0.1)
    with Crew(2) as crew:
        async with serving(silence) as fake:
            driving = asyncio.ensure_future(
                capture_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=crew)
            )
            await eventually(lambda: len(fake.received) == 2)
            psutil.Process(crew.hired[0].pid).suspend()
            capture = await asyncio.wait_for(driving, PATIENCE_S)

    assert capture.failure is not None
    assert "worker 0 has said nothing for 1 s" in capture.failure.what


async def test_a_worker_without_memory_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(_part: CellPart, lead: Lead) -> PartReport:
        lead.start()
        raise MemoryError

    monkeypatch.setattr(service, "drive_part", no_memory)
    with Crew.inline() as crew:
        async with serving(stream()) as fake:
            with pytest.raises(ClientFailed, match="worker 0 failed: MemoryError"):
                await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=crew)
        assert crew.hired == ()


async def test_what_a_worker_refuses_comes_through_and_the_crew_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_part: CellPart, _lead: Lead) -> PartReport:
        raise BadInput("too_many_files", "so many", why="a limit", fix="raise it")

    with Crew.inline() as crew:
        async with serving(stream()) as fake:
            with monkeypatch.context() as refusing:
                refusing.setattr(service, "drive_part", refuse)
                with pytest.raises(BadInput, match="so many") as refused:
                    await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=crew)
            capture = await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=crew)

    assert (refused.value.code, refused.value.fix) == ("too_many_files", "raise it")
    assert capture.tally.requests == 2


async def test_workers_leave_with_their_crew() -> None:
    with Crew(2) as crew:
        async with serving(stream()) as fake:
            await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=crew)
        pids = [each.pid for each in crew.hired]
        assert all(pid is not None and psutil.pid_exists(pid) for pid in pids)

    assert not any(pid is not None and psutil.pid_exists(pid) for pid in pids)


ORPHANS = """
import os, signal, time
from whichbits.drive.crew.crew import Crew
crew = Crew(2)
print(*(each.pid for each in crew.take(2)), flush=True)
time.sleep(60)
"""


async def test_workers_die_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
    assert parent.stdout is not None
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()

    async with asyncio.timeout(PATIENCE_S):
        await eventually(lambda: not any(each.is_running() for each in workers))


async def test_signals_to_everybody_do_not_end_a_worker() -> None:
    """Ctrl-C and a group's SIGTERM are the lead's to judge; it stops the cell in order."""
    with Crew(1) as crew:
        async with serving(silence) as fake:
            stop = asyncio.Event()
            driving = asyncio.ensure_future(
                drive_cell([fake.target], plan(1), Load(concurrency=1), LIMITS, 0, stop=stop, crew=crew)
            )
            await eventually(lambda: fake.in_flight == 1)
            pid = crew.hired[0].pid
            assert pid is not None
            os.kill(pid, signal.SIGINT)
            os.kill(pid, signal.SIGTERM)
            stop.set()
            capture = await driving

    assert [record.error_code for record in capture.records] == ["cancelled"]


async def test_a_crew_inside_one_process_leaves_no_thread() -> None:
    async with serving(stream()) as fake:
        await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0)

    assert not [thread for thread in threading.enumerate() if thread.name.startswith("whichbits worker")]
