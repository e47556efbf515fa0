"""A part of a cell end to end, against a server on loopback whose script is known."""

import asyncio
import gc
import select
import time
from itertools import pairwise

import pytest

from tests.drive.fake_server import DONE, HEAD, LAST_CHUNK, Received, chunk, event, serving, silence, stream, together
from tests.drive.part_runs import GENEROUS, MS, KeepingLead, drive, plan, serving_aside, wait_until
from whichbits.drive.part import CellPart
from whichbits.drive.routing import DIRECT, Route
from whichbits.drive.sending.worker import drive_part
from whichbits.drive.target import Target
from whichbits.errors import BadInput
from whichbits.traffic.plan import PlannedRequest


def test_times_follow_the_servers_schedule() -> None:
    """TTFT holds the wait for the first chunk, every chunk has its own stamp, and nothing arrives early."""
    with serving_aside(stream(first_s=0.05, gap_s=0.01)) as fake:
        capture = drive([fake.target], plan(3, output_tokens=5), streams=3)

    for record in capture.records:
        assert record.succeeded
        assert record.sent_ns is not None
        assert record.first_byte_ns is not None
        assert record.finished_ns is not None
        # A client that is late reads several chunks at once, with the stamp of the last, and says so.
        assert all(at_ns - record.sent_ns >= (49 + 9 * nth) * MS for nth, at_ns in enumerate(record.chunk_ns))
        assert len(set(record.chunk_ns)) >= 5 - capture.report.merged_gaps
        assert list(record.chunk_tokens) == [1] * 5
        assert (record.output_tokens, record.prompt_tokens, record.finish_reason) == (5, 3, "length")
        assert record.done_seen
        assert record.scheduled_ns <= record.sent_ns <= record.first_byte_ns <= record.chunk_ns[0]
        assert record.chunk_ns[-1] <= record.finished_ns <= capture.report.finished_ns
    assert capture.report.kernel_stamps
    assert capture.report.gaps == 3 * 4


def test_closed_loop_fills_its_streams_and_never_exceeds_them() -> None:
    """The server sees exactly C at a time, over C connections, and a slot's next request is due at once."""
    with serving_aside(together(4, stream(first_s=0.004))) as fake:
        capture = drive([fake.target], plan(20), streams=4)

    assert (fake.peak, fake.connections) == (4, 4)
    assert [record.index for record in capture.records] == list(range(20))
    assert [record.scheduled_ns for record in capture.records[:4]] == [capture.report.started_ns] * 4
    finishes = {record.finished_ns for record in capture.records}
    assert {record.scheduled_ns for record in capture.records[4:]} <= finishes
    assert capture.report.late_connect_ns == {}


def test_a_burst_leaves_together() -> None:
    """A hundred requests of one moment are all at the server before the first answer begins."""
    with serving_aside(together(100, stream())) as fake:
        capture = drive([fake.target], plan(100, every_ms=0), streams=None, open_loop=True)

    assert (fake.peak, fake.connections) == (100, 100)
    assert {record.scheduled_ns for record in capture.records} == {capture.report.started_ns}
    assert capture.codes == [None] * 100


def test_open_loop_keeps_its_schedule_while_answers_are_slow() -> None:
    with serving_aside(together(10, stream())) as fake:
        capture = drive([fake.target], plan(10, every_ms=10), streams=None, open_loop=True)

    assert fake.peak == 10
    for record in capture.records:
        assert record.scheduled_ns == capture.report.started_ns + record.index * 10 * MS
        assert record.sent_ns is not None
        assert record.sent_ns >= record.scheduled_ns
    assert len(capture.report.send_lags_ns) == 10


def test_a_cap_holds_requests_back_and_their_wait_counts() -> None:
    """With two slots and answers of 20 ms, the sixth request is sent two answers after its schedule."""
    with serving_aside(together(2, stream(first_s=0.02))) as fake:
        capture = drive([fake.target], plan(6, every_ms=0), streams=2, open_loop=True)

    last = capture.records[-1]
    assert fake.peak == 2
    assert last.sent_ns is not None
    assert last.scheduled_ns == capture.report.started_ns
    assert last.sent_ns - last.scheduled_ns >= 38 * MS
    # What a slot's wait cost is the server's time, not the client's lag.
    assert max(capture.report.send_lags_ns) < last.sent_ns - last.scheduled_ns


def session(count: int, think_ms: float, *, first: int = 0, offset_ms: float | None = None) -> list[PlannedRequest]:
    offset_ns = None if offset_ms is None else round(offset_ms * MS)
    return [
        PlannedRequest(first + turn, (first + turn,), 2, offset_ns if turn == 0 else None)
        if turn == 0
        else PlannedRequest(
            first + turn, (first + turn,), 2, None, follows=first + turn - 1, think_ns=round(think_ms * MS)
        )
        for turn in range(count)
    ]


def test_a_session_keeps_its_stream_while_it_thinks() -> None:
    """Turns follow by think time; the single stream serves the other session only afterwards."""
    with serving_aside(stream()) as fake:
        capture = drive([fake.target], [*session(3, 15), *session(2, 0, first=3)], streams=1)

    first, second, third, other, last = capture.records
    for before, after in ((first, second), (second, third)):
        assert after.scheduled_ns == (before.finished_ns or 0) + 15 * MS
        assert (after.sent_ns or 0) >= after.scheduled_ns
    assert other.scheduled_ns == third.finished_ns
    assert last.scheduled_ns == other.finished_ns
    assert fake.peak == 1


def test_a_thinking_session_holds_no_slot_of_an_open_loop() -> None:
    """Under a cap of one, another request is served while the session thinks."""
    planned = [*session(2, 60, offset_ms=0), PlannedRequest(2, (2,), 2, 5 * MS)]
    with serving_aside(stream()) as fake:
        capture = drive([fake.target], planned, streams=1, open_loop=True)

    first, later_turn, other = capture.records
    assert later_turn.scheduled_ns == (first.finished_ns or 0) + 60 * MS
    assert (other.finished_ns or 0) < (later_turn.sent_ns or 0)


def test_a_broken_session_ends_and_says_so() -> None:
    """A turn that failed only by its content breaks it as well; other sessions go on."""

    async def second_falls_short(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.body["prompt"] == [1]:
            writer.write(HEAD + chunk(event(finish="stop", usage=1)) + LAST_CHUNK)
        else:
            await stream()(request, writer)

    with serving_aside(second_falls_short) as fake:
        capture = drive([fake.target], [*session(4, 1), *session(2, 1, first=4)], streams=1)

    assert capture.codes == [None, "short_output", "session_broken", "session_broken", None, None]
    assert len(fake.received) == 4
    assert [record.sent_ns for record in capture.records[2:4]] == [None, None]
    assert "request 1" in (capture.records[2].error or "")


def test_half_a_session_is_refused() -> None:
    with pytest.raises(ValueError, match="one part"):
        drive([Target("127.0.0.1", 9, "m")], session(3, 1)[1:])


@pytest.mark.parametrize("policy", ["round_robin", "random", "least_outstanding", "connection_random", "prefix_hash"])
def test_every_balance_sends_everything_once(policy: str) -> None:
    with serving_aside(stream()) as first, serving_aside(stream()) as second:
        targets = [
            Target("127.0.0.1", fake.port, "tiny", replica=name, api_key="s3cret")
            for fake, name in ((first, "a"), (second, "b"))
        ]
        capture = drive(targets, plan(24), streams=4, route=Route(policy, seed=5))

    assert set(capture.codes) == {None}
    for name, fake in (("a", first), ("b", second)):
        mine = [1000 + record.index for record in capture.records if record.replica == name]
        assert sorted(request.body["prompt"][0] for request in fake.received) == mine
        assert all("Authorization: Bearer s3cret" in request.head for request in fake.received)


def test_stopping_keeps_what_is_finished_and_closes_what_is_not() -> None:
    """Finished records stay, requests in flight are ``cancelled``, unsent ones leave none, sockets close."""

    async def first_answers_only(request: Received, writer: asyncio.StreamWriter) -> None:
        await (stream() if request.body["prompt"][0] < 1002 else silence)(request, writer)

    with serving_aside(first_answers_only) as fake:
        lead = KeepingLead(stop_when=lambda: len(fake.received) == 4)
        capture = drive([fake.target], plan(9), streams=2, lead=lead)
        assert wait_until(lambda: fake.open_connections == 0)

    assert capture.report.cancelled
    assert capture.codes == [None, None, "cancelled", "cancelled"]
    assert gc.isenabled()


def test_a_part_that_is_not_to_begin_sends_nothing() -> None:
    class Reluctant(KeepingLead):
        def start(self) -> int | None:
            return None

    with serving_aside(stream()) as fake:
        capture = drive([fake.target], plan(3), streams=3, lead=Reluctant())

    assert capture.report.cancelled
    assert capture.records == ()
    assert fake.received == []


def test_a_wish_to_stop_does_not_wait_for_connections_that_nobody_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.http.wire.Wire.advance", lambda _wire: select.EPOLLOUT)
    began_s = time.monotonic()
    with serving_aside(stream()) as fake:
        capture = drive(
            [fake.target],
            plan(4),
            streams=4,
            lead=KeepingLead(stop_when=lambda: time.monotonic() - began_s > 0.05),
        )

    assert capture.report.cancelled
    assert capture.records == ()


def test_progress_ends_with_the_whole_truth() -> None:
    """Counts only grow, and the last call has every request."""
    lead = KeepingLead()
    with serving_aside(stream(gap_s=0.02)) as fake:
        drive([fake.target], plan(4, output_tokens=6), streams=2, lead=lead)

    assert lead.told_calls[-1] == (4, 4, 0, 4 * (6 + 2))
    assert all(
        one <= other for before, after in pairwise(lead.told_calls) for one, other in zip(before, after, strict=True)
    )
    assert len(lead.told_calls) > 1


def test_a_connection_that_the_server_closed_is_never_chosen() -> None:
    """A server that closes after each answer costs new connections, not failures, and they are opened ahead."""

    async def answer_once(_request: Received, writer: asyncio.StreamWriter) -> None:
        whole = b"".join(chunk(event(usage=token, finish="length" if token == 4 else None)) for token in range(1, 5))
        writer.write(HEAD + whole + chunk(DONE) + LAST_CHUNK)
        writer.close()

    with serving_aside(answer_once) as fake:
        capture = drive([fake.target], plan(5, every_ms=100), streams=None, open_loop=True)

    assert capture.codes == [None] * 5
    assert fake.connections >= 5


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"])
def test_an_idle_connection_that_the_server_closes_is_opened_anew_before_it_is_needed(last_words: bytes) -> None:
    async def answer_once(request: Received, writer: asyncio.StreamWriter) -> None:
        await stream()(request, writer)
        await asyncio.sleep(0.02)
        writer.write(last_words)
        writer.close()

    with serving_aside(answer_once) as fake:
        capture = drive([fake.target], plan(2, every_ms=1500), streams=1, open_loop=True)

    assert capture.codes == [None, None]
    assert capture.report.late_connect_ns == {}
    assert fake.connections == 2


def test_a_backlog_that_is_bounded_changes_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.sending.intake.BACKLOG_BYTES", 0)
    with serving_aside(stream()) as fake:
        capture = drive([fake.target], plan(6), streams=2)

    assert capture.codes == [None] * 6
    assert [list(record.chunk_tokens) for record in capture.records] == [[1] * 4] * 6


def test_a_request_longer_than_the_sockets_buffer_leaves_whole() -> None:
    """The kernel takes a part; the rest follows as the server reads."""
    long = PlannedRequest(0, tuple(range(1_500_000)), 3, None)
    with serving_aside(stream()) as fake:
        capture = drive([fake.target], [long, *plan(3)[1:]], streams=1)

    assert capture.codes == [None] * 3
    assert len(fake.received[0].body["prompt"]) == 1_500_000


def test_too_many_connections_are_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _which: (80, 100))

    with pytest.raises(BadInput) as error:
        drive([Target("127.0.0.1", 9, "m")], plan(50), streams=50)

    assert error.value.code == "open_files_too_few"


def test_times_are_against_the_origin_that_parts_share() -> None:
    lead = KeepingLead()
    with serving_aside(stream()) as fake:
        origin_ns = time.monotonic_ns() - 5 * MS
        report = drive_part(CellPart((fake.target,), tuple(plan(1)), 1, False, GENEROUS, DIRECT, origin_ns), lead)

    assert report.started_ns == lead.start_ns - origin_ns
    assert lead.records[0].scheduled_ns == report.started_ns


async def test_the_loop_can_run_beside_an_event_loop() -> None:
    """As a worker in a thread would."""
    async with serving(stream()) as fake:
        capture = await asyncio.to_thread(drive, [fake.target], plan(4), streams=2)

    assert capture.codes == [None] * 4
