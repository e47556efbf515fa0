"""Every way to fail, and to end well, through the loop: the tables of ``test_outcome`` hold here as well."""

import asyncio
import socket

import pytest

from tests.drive.answer.test_outcome import ASKED, GOOD, MISBEHAVIOUR, REQUEST
from tests.drive.fake_server import HEAD, Answer, Received, chunk, event, raw, silence, stream
from tests.drive.part_runs import GENEROUS, drive, serving_aside
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits
from whichbits.traffic.plan import PlannedRequest


def one_request(answer: Answer, limits: Limits = GENEROUS) -> RequestRecord:
    with serving_aside(answer) as fake:
        (record,) = drive([fake.target], [REQUEST], limits=limits).records
        return record


@pytest.mark.parametrize("case", MISBEHAVIOUR)
def test_misbehaviour_has_its_code_and_its_words(case: str) -> None:
    answer, code, words = MISBEHAVIOUR[case]

    record = one_request(answer)

    assert record.error_code == code
    assert words in (record.error or "")


@pytest.mark.parametrize("case", GOOD)
def test_a_complete_answer_succeeds_however_it_ends(case: str) -> None:
    record = one_request(GOOD[case])

    assert record.error is None
    assert record.output_tokens == ASKED
    assert len(record.chunk_ns) == ASKED


def test_silence_and_slowness_are_told_apart() -> None:
    async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(chunk(b": still here\n\n"))
            await asyncio.sleep(0.01)

    silent = one_request(silence, Limits(request_seconds=20, silence_seconds=0.1))
    slow = one_request(endless, Limits(request_seconds=0.3, silence_seconds=20))

    assert (silent.error_code, silent.first_byte_ns) == ("timeout_silence", None)
    assert (slow.error_code, slow.http_status) == ("timeout_total", 200)


def test_a_refused_port_fails_each_request_and_ends_the_part() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        target = Target("127.0.0.1", unused.getsockname()[1], "tiny")
        (record,) = drive([target], [REQUEST]).records

    assert (record.error_code, record.sent_ns, record.http_status) == ("connect_failed", None, None)
    assert "refused" in (record.error or "")


def test_a_name_that_nobody_has_fails_the_request() -> None:
    (record,) = drive([Target("no-such-host.invalid", 80, "tiny")], [REQUEST]).records

    assert record.error_code == "connect_failed"


def test_a_server_that_slams_the_door_is_not_besieged() -> None:
    """Each request fails by itself, and idle connections are not reopened for ever."""
    with serving_aside(raw(close=True)) as fake:
        capture = drive([fake.target], [PlannedRequest(index, (index,), ASKED, None) for index in range(4)], streams=2)

    assert set(capture.codes) == {"connection_lost"}
    assert fake.connections <= 2 + 4


def test_a_failed_request_keeps_what_had_arrived_and_does_not_spoil_the_next() -> None:
    async def first_one_breaks(request: Received, writer: asyncio.StreamWriter) -> None:
        breaks = request.body["prompt"] == [0]
        await (raw(HEAD, chunk(event(usage=1)), close=True) if breaks else stream())(request, writer)

    with serving_aside(first_one_breaks) as fake:
        capture = drive([fake.target], [PlannedRequest(index, (index,), ASKED, None) for index in range(3)])

    assert capture.codes == ["connection_lost", None, None]
    assert list(capture.records[0].chunk_tokens) == [1]
    assert capture.report.late_connect_ns.keys() == {1}


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X-Flood: 0123456789\r\n" * 5000,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 2000,
    ],
    ids=["headers", "interim answers"],
)
def test_a_flood_before_the_body_is_cut_off(head: bytes) -> None:
    record = one_request(raw(head))

    assert record.error_code == "bad_stream"
    assert "before a body" in (record.error or "")


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.drive.http.framing.LONGEST_ANSWER", 1000)

    record = one_request(raw(HEAD, chunk(b": " + b"x" * 2000 + b"\n\n")))

    assert record.error_code == "bad_stream"
    assert "longer than" in (record.error or "")
