"""One cell from two machines of a Ray cluster: as one client would send it, and nobody's death loses the rest."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest

from tests.drive.crew.test_crew import LIMITS, MS, PATIENCE_S, indices, plan, stopped
from tests.drive.fake_server import Received, eventually, serving, silence, stream, together
from whichbits.drive.cell import capture_cell, drive_cell
from whichbits.drive.crew import ray_hire
from whichbits.drive.crew.crew import Crew
from whichbits.drive.crew.engage import engaged
from whichbits.errors import ClientFailed
from whichbits.record.parts import records_in
from whichbits.study.client import ClientPlan
from whichbits.study.model import Load

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::FutureWarning:ray")]


@pytest.fixture(scope="module")
def crew(cluster: Any) -> Iterator[Crew]:
    """Two workers, one on each machine, since each has a single core."""
    with engaged(ClientPlan(workers=2, ray=cluster.address)) as hired:
        yield hired


async def test_two_machines_send_exactly_the_plan_once(crew: Crew, tmp_path: Path) -> None:
    async with serving(together(3, stream(first_s=0.01))) as fake:
        capture = await drive_cell(
            [fake.target],
            plan(11, output_tokens=600),
            Load(concurrency=3),
            LIMITS,
            0,
            crew=crew,
            records=lambda number: tmp_path / f"{number}.arrows",
        )

    assert sum(worker.machine is None for worker in crew.hired) == 1
    assert indices(fake) == list(range(11))
    assert fake.peak == 3
    records = records_in(capture.parts)
    assert [record.index for record in records] == list(range(11))
    assert all(record.succeeded and len(record.chunk_ns) == 600 for record in records)
    assert capture.health.workers == 2
    assert capture.notes[0].startswith("sent from ")
    assert "the lead's own (1 worker)" in capture.notes[0]
    reniced = {os.getpriority(os.PRIO_PROCESS, worker.pid or 0) for worker in crew.hired} == {os.nice(0)}
    assert len(capture.notes) == (1 if reniced else 3)


async def test_the_machines_begin_together_on_one_clock(crew: Crew) -> None:
    """Both have this kernel's clock, so that the true offset is 0, and the server tells the true times."""
    origin_ns = time.monotonic_ns()
    connected = []

    async def at_once(request: Received, writer: asyncio.StreamWriter) -> None:
        connected.append(fake.open_connections)
        await both(request, writer)

    for _ in range(5):
        both = together(2, stream())
        async with serving(at_once) as fake:
            capture = await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, origin_ns, crew=crew)
            arrivals = {request.body["prompt"][0] - 1000: request.at_ns - origin_ns for request in fake.received}
            assert capture.health.clock_error_ms is not None
            assert capture.health.clock_drift_ms is not None
            for record in capture.records:
                assert abs(record.scheduled_ns - capture.started_ns) <= 2 * capture.health.clock_error_ms * MS
                assert record.sent_ns is not None
                assert record.sent_ns <= arrivals[record.index] + capture.health.clock_error_ms * MS

    assert connected == [2] * 10  # nobody sends before the other has connected


async def test_a_stop_reaches_both_machines(crew: Crew) -> None:
    capture = await stopped(crew)

    assert capture.cancelled
    assert capture.failure is None
    assert [record.error_code for record in capture.records] == [None, None, "cancelled", "cancelled"]


async def test_an_actor_that_is_killed_loses_only_its_own(crew: Crew, tmp_path: Path) -> None:
    async def first_answers_only(request: Received, writer: asyncio.StreamWriter) -> None:
        await (silence if request.body["prompt"][0] >= 1004 else stream())(request, writer)

    async with serving(first_answers_only) as fake:
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
        await eventually(lambda: fake.in_flight == 2 and len(fake.received) == 6)
        elsewhere = next(number for number, worker in enumerate(crew.hired) if worker.machine is not None)
        killed = crew.hired[elsewhere].pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        capture = await asyncio.wait_for(driving, timeout=PATIENCE_S)
    left = {record.index: record.error_code for record in records_in(capture.parts)}
    async with serving(stream()) as fake:
        again = await drive_cell([fake.target], plan(4), Load(concurrency=2), LIMITS, 0, crew=crew)

    assert capture.failure is not None
    assert capture.failure.code == "client_worker_lost"
    assert f"worker {elsewhere} on 127.0.0.1 ended: " in capture.failure.what
    kept = {index: code for index, code in left.items() if index % 2 != elsewhere}
    assert list(kept.values()) == [None, None, "cancelled"]
    assert again.tally.requests == 4
    assert again.failure is None


async def test_more_workers_than_cores_are_refused(cluster: Any, crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientFailed, match=r"client\.workers is 3, but the Ray cluster has 2 cores") as too_many:  # noqa: SIM117
        with engaged(ClientPlan(workers=3, ray=cluster.address)):
            pass
    crew.take(2)
    monkeypatch.setattr(ray_hire, "_COME_SECONDS", 1.0)
    with pytest.raises(ClientFailed, match=r"worker \d+ got no core within 1 s") as none_free:
        crew.take(3)

    assert (too_many.value.code, none_free.value.code) == ("ray_no_room", "ray_no_room")
    assert len(crew.hired) == 2


@pytest.fixture(scope="module")
def third(cluster: Any, crew: Crew) -> Iterator[Any]:
    """A third machine, with the only core that is free."""
    crew.take(2)
    node = cluster.add_node(num_cpus=1, include_dashboard=False)
    yield node
    if node in cluster.list_all_nodes():
        cluster.remove_node(node)


async def test_a_stranger_at_the_door_is_not_taken_for_a_worker(
    cluster: Any, third: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He sends an object to be unpacked instead of a proof; the worker that comes after him is the one."""
    strangers = []

    def open_door(address: tuple[str, int]) -> socket.socket:
        door = socket.socket()
        door.bind(address)
        door.listen()
        strangers.append(Client(door.getsockname(), family="AF_INET"))
        strangers[0].send({"pid": 1})
        return door

    monkeypatch.setattr(socket, "create_server", open_door)
    with engaged(ClientPlan(workers=1, ray=cluster.address)) as alone:
        async with serving(stream()) as fake:
            capture = await drive_cell([fake.target], plan(2), Load(concurrency=1), LIMITS, 0, crew=alone)
        assert alone.hired[0].machine is not None
    strangers[0].close()

    assert capture.tally.requests == 2


async def test_a_worker_that_cannot_start_says_why(cluster: Any, third: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The door's address leads nowhere from there."""
    monkeypatch.setattr(socket.socket, "getsockname", lambda _door: ("127.0.0.1", 1))
    with (
        engaged(ClientPlan(workers=1, ray=cluster.address)) as alone,
        pytest.raises(ClientFailed, match=r"worker 0 did not start on the Ray cluster: ended: .*refused") as failed,
    ):
        alone.take(1)

    assert failed.value.code == "ray_worker_failed"


async def test_another_version_on_a_machine_is_refused(
    cluster: Any, third: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_hire, "version", lambda _package: "99.0")
    with (
        engaged(ClientPlan(workers=1, ray=cluster.address)) as alone,
        pytest.raises(ClientFailed, match=r"127\.0\.0\.1 has whichbits .*, not 99\.0") as failed,
    ):
        alone.take(1)

    assert failed.value.code == "ray_worker_failed"


async def test_a_machine_that_dies_is_one_error(cluster: Any, third: Any) -> None:
    with engaged(ClientPlan(workers=1, ray=cluster.address)) as alone:
        async with serving(silence) as fake:
            driving = asyncio.ensure_future(
                capture_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=alone)
            )
            await eventually(lambda: fake.in_flight == 2)
            await asyncio.to_thread(cluster.remove_node, third, allow_graceful=False)
            capture = await asyncio.wait_for(driving, timeout=PATIENCE_S)
        assert alone.hired == ()

    assert capture.failure is not None
    assert capture.failure.code == "client_worker_lost"
    assert capture.cancelled
