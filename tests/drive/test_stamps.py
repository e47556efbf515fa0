"""Stamps are the kernel's: they tell when bytes arrived, not when the client came to read them."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.drive.certificates import made_up_authority
from tests.drive.fake_server import DONE, HEAD, LAST_CHUNK, chunk, event, stream
from tests.drive.part_runs import MS, KeepingLead, drive, plan, serving_aside, wait_until
from whichbits.drive.http.kernel_clock import KernelClock
from whichbits.drive.sending.intake import NEVER_NS, Intake
from whichbits.drive.target import Target

BLOCKED_S = 0.03


@contextmanager
def speaking(script: Callable[[socket.socket], None]) -> Iterator[Target]:
    """Serve one connection, from a thread, by ``script``, which is called when the request has come."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.recv(65536)
            script(connection)
            connection.recv(1)  # the client hangs up first

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield Target("127.0.0.1", listener.getsockname()[1], "tiny")
        thread.join(60)


class Blocked(KeepingLead):
    """Blocks the loop, when it first reports of an answer, until the server has spoken, and a while longer."""

    def __init__(self) -> None:
        super().__init__()
        self.is_blocked, self.has_spoken = threading.Event(), threading.Event()

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        if chunks and not self.is_blocked.is_set():
            self.is_blocked.set()
            assert self.has_spoken.wait(60)
            time.sleep(BLOCKED_S)


def test_a_late_read_has_the_time_of_its_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.sending.intake._READS_PER_SAMPLE", 1)
    lead, spoken_ns = Blocked(), list[int]()

    def script(connection: socket.socket) -> None:
        connection.sendall(HEAD + chunk(event(usage=1)))
        assert lead.is_blocked.wait(60)
        spoken_ns.append(time.monotonic_ns())
        connection.sendall(chunk(event(finish="length", usage=2)))
        spoken_ns.append(time.monotonic_ns())
        lead.has_spoken.set()
        time.sleep(2 * BLOCKED_S)
        connection.sendall(chunk(DONE) + LAST_CHUNK)

    with speaking(script) as target:
        capture = drive([target], plan(1, output_tokens=2), lead=lead)

    (record,) = capture.records
    assert record.error is None
    # Both clocks are read within a microsecond of each other; the read itself was BLOCKED_S later.
    assert spoken_ns[0] - MS // 2 <= record.chunk_ns[1] <= spoken_ns[1] + BLOCKED_S * 1e9 / 2
    assert max(capture.report.read_lags_ns) >= BLOCKED_S * 1e9
    assert max(capture.report.loop_lags_ns) >= BLOCKED_S * 1e9 / 2
    assert capture.report.kernel_stamps
    assert capture.report.merged_gaps == 0


def test_chunks_that_a_late_read_merged_are_counted() -> None:
    """Two arrive while the client is blocked: their gap is lost, and that is told."""
    lead = Blocked()

    def script(connection: socket.socket) -> None:
        connection.sendall(HEAD + chunk(event(usage=1)))
        assert lead.is_blocked.wait(60)
        connection.sendall(chunk(event(usage=2)))
        time.sleep(0.005)
        connection.sendall(chunk(event(finish="length", usage=3)))
        lead.has_spoken.set()
        time.sleep(2 * BLOCKED_S)
        connection.sendall(chunk(DONE) + LAST_CHUNK)

    with speaking(script) as target:
        capture = drive([target], plan(1, output_tokens=3), lead=lead)

    # The wait is held against the mean gap, which the blocking itself has made long: some 140 ms in two gaps.
    assert capture.codes == [None]
    assert (capture.report.gaps, capture.report.short_gaps) == (2, 1)
    assert capture.records[0].chunk_ns[1] == capture.records[0].chunk_ns[2]


class Prompt(Intake):
    """Is never late, as on an idle machine: what it reads came just now."""

    def _poll(self, since_ns: int) -> bool:
        return super()._poll(NEVER_NS)


def test_chunks_that_the_server_wrote_together_are_not_held_against_an_idle_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("whichbits.drive.sending.loop.Intake", Prompt)
    monkeypatch.setattr("whichbits.drive.sending.intake.KernelClock.holds", lambda _clock, _now_ns: False)
    lead = KeepingLead()

    def script(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        for usage in (1, 3, 5):
            connection.sendall(chunk(event(usage=usage)) + chunk(event(usage=usage + 1)))
            assert wait_until(lambda: lead.told_calls != [] and lead.told_calls[-1][3] == usage + 1)  # noqa: B023
        connection.sendall(chunk(event(None, finish="length", usage=6)) + chunk(DONE) + LAST_CHUNK)

    with speaking(script) as target:
        capture = drive([target], plan(1, output_tokens=6), lead=lead)

    assert len(capture.records[0].chunk_ns) == 6
    assert capture.report.short_gaps == 3
    assert (capture.report.merged_gaps, capture.report.bundled_gaps) == (0, 3)


def test_stamps_are_not_believed_where_they_cannot_be_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall clock that was set an hour back or on: the time of the read is the stamp."""
    hour_ns = 3600 * 1000 * MS
    for step_ns in (-hour_ns, hour_ns):

        class Stepped(KernelClock):
            def _measure(self, step_ns: int = step_ns) -> int:
                return super()._measure() + step_ns

            def holds(self, _now_ns: int) -> bool:
                return True

        monkeypatch.setattr("whichbits.drive.sending.intake.KernelClock", Stepped)
        with serving_aside(stream(gap_s=0.01)) as fake:
            (record,) = drive([fake.target], plan(1)).records

        assert record.sent_ns is not None
        assert record.finished_ns is not None
        assert record.sent_ns < record.chunk_ns[0] < record.chunk_ns[-1] <= record.finished_ns
        assert record.chunk_ns[-1] - record.sent_ns >= 28 * MS


def test_no_stamp_is_believed_right_after_the_wall_clock_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.sending.intake._READS_PER_SAMPLE", 1)
    monkeypatch.setattr("whichbits.drive.sending.intake.KernelClock.holds", lambda _clock, _now_ns: False)
    with serving_aside(stream(gap_s=0.01)) as fake:
        capture = drive([fake.target], plan(1))

    assert capture.codes == [None]
    assert set(capture.report.read_lags_ns) == {0}


class Clocks:
    """A wall clock and a monotonic one, both set by hand."""

    def __init__(self) -> None:
        self.monotonic, self.ahead = 1_000 * MS, 5_000_000 * MS

    def monotonic_ns(self) -> int:
        self.monotonic += 50
        return self.monotonic

    def wall_ns(self) -> int:
        return self.monotonic + self.ahead


def test_a_step_of_the_wall_clock_is_seen_once_and_slewing_is_followed() -> None:
    clocks = Clocks()
    clock = KernelClock(clocks.wall_ns, clocks.monotonic_ns)
    assert clock.holds(clocks.monotonic_ns())

    clocks.ahead += MS // 20
    assert clock.holds(clocks.monotonic_ns())
    clock.renew()
    assert abs(clock.offset_ns - clocks.ahead) <= 50

    clocks.ahead -= 2 * MS
    clock.renew()  # must not hide the step
    assert not clock.holds(clocks.monotonic_ns())
    assert clock.holds(clocks.monotonic_ns())
    assert abs(clock.offset_ns - clocks.ahead) <= 50


def test_an_interrupted_look_at_both_clocks_is_no_step() -> None:
    """The process was descheduled between the two for 3 ms; a second look finds the clocks as they were."""
    clocks = Clocks()
    clock = KernelClock(clocks.wall_ns, clocks.monotonic_ns)
    now_ns = clocks.monotonic_ns()

    clocks.monotonic += 3 * MS

    assert clock.holds(now_ns)


def test_without_kernel_stamps_the_time_of_the_read_counts(tmp_path: Path) -> None:
    """TLS hides them, and the report says so."""
    served, authority = made_up_authority(tmp_path)
    with serving_aside(stream(gap_s=0.01), tls=served) as fake:
        target = Target("127.0.0.1", fake.port, "tiny", tls=True, ca_file=authority)
        capture = drive([target], plan(6), streams=2)
        doubted = drive([Target("127.0.0.1", fake.port, "tiny", tls=True)], plan(1))

    assert capture.codes == [None] * 6
    assert not capture.report.kernel_stamps
    assert capture.report.read_lags_ns == ()
    assert capture.report.late_connect_ns == {}
    assert all(record.chunk_ns[-1] - (record.sent_ns or 0) >= 28 * MS for record in capture.records)
    assert doubted.codes == ["connect_failed"]
    assert "certificate verify failed" in (doubted.records[0].error or "")


def test_a_long_request_and_a_long_answer_pass_tls_whole(tmp_path: Path) -> None:
    served, authority = made_up_authority(tmp_path)
    with serving_aside(stream(tokens_per_chunk=[1] * 5000), tls=served) as fake:
        target = Target("127.0.0.1", fake.port, "tiny", tls=True, ca_file=authority)
        long = plan(1, output_tokens=5000)[0]
        (record,) = drive([target], [type(long)(0, tuple(range(400_000)), 5000, None)]).records

    assert record.error is None
    assert len(record.chunk_ns) == 5000
