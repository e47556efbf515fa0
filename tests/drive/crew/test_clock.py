"""Workers with a clock and a disk of their own: what they send is on the lead's clock and in the lead's folder."""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.drive.crew.test_crew import LIMITS, MS, indices, plan
from tests.drive.fake_server import serving, stream
from whichbits.drive.cell import drive_cell
from whichbits.drive.crew.clock import ClockAgreement, ClockReading, agreement, read_clock
from whichbits.drive.crew.crew import Crew
from whichbits.drive.crew.hire import Hired, in_a_thread
from whichbits.drive.crew.orders import AskClock, Channel, Order, Start, Written
from whichbits.drive.crew.service import serve
from whichbits.record.parts import records_in
from whichbits.study.model import Load

HOUR_NS = 3_600_000_000_000


class Elsewhere:
    """A channel to a worker whose machine's clock is ahead of ours; it asks and is told in that clock."""

    def __init__(self, channel: Channel, ahead_ns: int) -> None:
        self._channel = channel
        self._ahead_ns = ahead_ns
        self.destinations: list[Any] = []
        self.written = 0

    def send(self, message: Any, /) -> None:
        match message:
            case Order():
                self.destinations.append(message.destination)
                message = replace(message, clock_origin_ns=message.clock_origin_ns - self._ahead_ns)
            case Start(at_ns):
                message = Start(at_ns - self._ahead_ns)
        self._channel.send(message)

    def recv(self) -> Any:
        message = self._channel.recv()
        self.written += isinstance(message, Written)
        return message + self._ahead_ns if isinstance(message, int) else message

    def fileno(self) -> int:
        return self._channel.fileno()

    def close(self) -> None:
        self._channel.close()


def hired_elsewhere(ahead_ns: Callable[[int], int]) -> Callable[[int], Hired]:
    def hire(number: int) -> Hired:
        here = in_a_thread(number)
        return replace(here, channel=Elsewhere(here.channel, ahead_ns(number)), machine=f"machine {number}")

    return hire


async def test_all_records_are_on_the_leads_clock_whatever_the_workers_clocks_say() -> None:
    """One machine is an hour ahead, the other two behind; both begin together and count from the lead's origin."""
    origin_ns = time.monotonic_ns()
    with Crew(2, hired_elsewhere(lambda number: (1 - 3 * number) * HOUR_NS)) as crew:
        async with serving(stream(first_s=0.01)) as fake:
            capture = await drive_cell([fake.target], plan(8), Load(concurrency=4), LIMITS, origin_ns, crew=crew)
        ended_ns = time.monotonic_ns() - origin_ns

    assert indices(fake) == list(range(8))
    firsts = [record for record in capture.records if record.index < 4]
    assert capture.health.clock_error_ms is not None
    spread_ms = (max(each.scheduled_ns for each in firsts) - min(each.scheduled_ns for each in firsts)) / MS
    assert spread_ms <= 2 * capture.health.clock_error_ms
    for record in capture.records:
        assert record.sent_ns is not None
        assert record.finished_ns is not None
        assert 0 < record.sent_ns < record.finished_ns < ended_ns + capture.health.clock_error_ms * MS
    assert capture.notes == ("sent from machine 0 (1 worker), machine 1 (1 worker)",)


async def test_the_server_sees_requests_when_their_records_say(tmp_path: Path) -> None:
    origin_ns = time.monotonic_ns()
    with Crew(2, hired_elsewhere(lambda number: number * HOUR_NS)) as crew:
        async with serving(stream()) as fake:
            capture = await drive_cell(
                [fake.target], plan(4, every_ms=20), Load(request_rate=50), LIMITS, origin_ns, crew=crew
            )

    assert capture.health.clock_error_ms is not None
    seen_ns = {request.body["prompt"][0] - 1000: request.at_ns - origin_ns for request in fake.received}
    for record in capture.records:
        assert record.sent_ns is not None
        assert record.sent_ns <= seen_ns[record.index] + capture.health.clock_error_ms * MS


async def test_a_worker_without_our_disk_sends_what_the_lead_writes(tmp_path: Path) -> None:
    with Crew(2, hired_elsewhere(lambda number: number)) as crew:
        async with serving(stream()) as fake:
            capture = await drive_cell(
                [fake.target],
                plan(6, output_tokens=2000),
                Load(concurrency=2),
                LIMITS,
                0,
                crew=crew,
                records=lambda number: tmp_path / "parts" / f"{number}.arrows",
            )
        channels = [each.channel for each in crew.hired]

    assert [[record.index for record in records_in([part])] for part in capture.parts] == [[0, 2, 4], [1, 3, 5]]
    assert [len(record.chunk_ns) for record in records_in(capture.parts)] == [2000] * 6
    assert capture.records == ()
    for channel in channels:
        assert isinstance(channel, Elsewhere)
        assert channel.destinations == ["lead"]
        assert channel.written > 1


async def test_a_disk_that_is_full_is_one_error(tmp_path: Path) -> None:
    with Crew(1, hired_elsewhere(lambda _number: 0)) as crew:
        async with serving(stream()) as fake:
            with pytest.raises(Exception, match="the part of worker 0 cannot be written: No space left") as failed:
                await drive_cell(
                    [fake.target],
                    plan(2),
                    Load(concurrency=1),
                    LIMITS,
                    0,
                    crew=crew,
                    records=lambda _number: Path("/dev/full"),
                )

    assert getattr(failed.value, "code", None) == "client_worker_lost"


async def test_what_handicaps_a_worker_is_noted_with_the_cell() -> None:
    with Crew(1, lambda number: replace(in_a_thread(number), notes=("worker 0 is slow",))) as crew:
        async with serving(stream()) as fake:
            capture = await drive_cell([fake.target], plan(1), Load(concurrency=1), LIMITS, 0, crew=crew)

    assert capture.notes == ("worker 0 is slow",)


async def test_one_machine_has_one_clock() -> None:
    with Crew(2, in_a_thread) as crew:
        async with serving(stream()) as fake:
            capture = await drive_cell([fake.target], plan(2), Load(concurrency=2), LIMITS, 0, crew=crew)

    assert capture.health.clock_error_ms is None
    assert capture.health.clock_drift_ms is None
    assert capture.notes == ()


class Network:
    """A channel to a worker whose clock is ahead, with these delays there and back; its time passes by hand."""

    def __init__(self, *delays_ms: tuple[int, int], ahead_ns: int) -> None:
        self._delays_ms = iter(delays_ms)
        self._ahead_ns = ahead_ns
        self._now_ns = 0

    def monotonic_ns(self) -> int:
        return self._now_ns

    def send(self, message: Any, /) -> None:
        assert isinstance(message, AskClock)

    def recv(self) -> int:
        there_ms, back_ms = next(self._delays_ms)
        read_ns = self._now_ns + there_ms * MS + self._ahead_ns
        self._now_ns += (there_ms + back_ms) * MS
        return read_ns

    def fileno(self) -> int:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("way", [(8, 0), (0, 8), (4, 4)])
def test_the_error_holds_however_unequal_the_ways_are(way: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network((200, 0), way, (0, 200), ahead_ns=HOUR_NS)
    monkeypatch.setattr("whichbits.drive.crew.clock.time", network)
    reading = read_clock(network, exchanges=3)

    assert abs(reading.offset_ns - HOUR_NS) <= reading.error_ns
    assert reading.error_ns == 4 * MS  # half of the quickest exchange, not of a slow one


def test_a_real_worker_tells_its_time() -> None:
    ours, theirs = socket.socketpair()
    channel, its_channel = Connection(ours.detach()), Connection(theirs.detach())
    worker = threading.Thread(target=serve, args=(its_channel,))
    worker.start()
    with its_channel:
        with channel:
            reading = read_clock(channel)
        worker.join()

    assert abs(reading.offset_ns) <= reading.error_ns


def test_agreement_is_that_of_the_worst_clock() -> None:
    steady = [ClockReading(1_000, 50), ClockReading(1_010, 40)]
    moved = [ClockReading(-9_000, 30), ClockReading(-8_300, 200)]

    assert agreement([[], steady, moved]) == ClockAgreement(error_ns=200, drift_ns=700)
    assert agreement([steady, moved[:1]]) == ClockAgreement(error_ns=50, drift_ns=None)
    assert agreement([[], []]) is None
