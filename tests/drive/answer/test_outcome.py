"""Every way to fail, and to end well, produced by a server that behaves in that way."""

import asyncio
import socket
from dataclasses import replace
from typing import get_args

import pytest
import uvloop

from tests.drive.fake_server import (
    DONE,
    HEAD,
    LAST_CHUNK,
    Answer,
    Received,
    chunk,
    event,
    raw,
    serving,
    silence,
    stream,
)
from whichbits.drive.answer.failure import MEANINGS, FailureCode
from whichbits.drive.cell import drive_cell
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.study.request import RequestForm
from whichbits.traffic.plan import PlannedRequest

ASKED = 3
REQUEST = PlannedRequest(index=0, prompt=(1, 2, 3), output_tokens=ASKED, offset_ns=None)
GENEROUS = Limits(request_seconds=20, silence_seconds=20)


def one_request(answer: Answer, limits: Limits = GENEROUS) -> RequestRecord:
    async def main() -> RequestRecord:
        async with serving(answer) as fake:
            capture = await drive_cell([fake.target], [REQUEST], Load(concurrency=1), limits, 0)
            return capture.records[0]

    return uvloop.run(main())


def body(*events: bytes) -> Answer:
    return raw(HEAD, *(chunk(each) for each in events), LAST_CHUNK)


ERROR_EVENT = b'data: {"error": {"message": "out of memory", "code": 500}}\n\n'
SERVER_ERROR = b'{"error": {"message": "engine died", "type": "InternalServerError"}}'
HTTP_500 = b"HTTP/1.1 500 Oops\r\nContent-Length: %d\r\n\r\n%s" % (len(SERVER_ERROR), SERVER_ERROR)
FULL = (event(usage=1), event(usage=2), event(finish="length", usage=3))

MISBEHAVIOUR: dict[str, tuple[Answer, FailureCode, str]] = {
    "closes after two chunks": (
        raw(HEAD, chunk(event(usage=1)), chunk(event(usage=2)), close=True),
        "connection_lost",
        "closed",
    ),
    "closes without a word": (raw(close=True), "connection_lost", "closed"),
    "500 with JSON": (raw(HTTP_500), "http_status", "HTTP 500: engine died"),
    "500 and gone": (raw(HTTP_500[:-5], close=True), "http_status", "HTTP 500"),
    "error event, then [DONE]": (body(event(usage=1), ERROR_EVENT, DONE), "error_in_stream", "out of memory"),
    "error event, then silence": (
        raw(HEAD, chunk(ERROR_EVENT), close=True),
        "error_in_stream",
        "out of memory",
    ),
    "error as text": (body(b'data: {"error": "busy"}\n\n', DONE), "error_in_stream", "busy"),
    "named error event": (body(b'event: error\ndata: {"detail": "no"}\n\n'), "error_in_stream", "no"),
    "error field": (body(b'error: {"code": 500, "message": "slot"}\n\n'), "error_in_stream", "slot"),
    "error object": (body(b'data: {"object": "error", "message": "m"}\n\n'), "error_in_stream", "m"),
    "finish reason abort": (body(event(finish="abort", usage=1), DONE), "error_in_stream", "abort"),
    "no finish reason, no [DONE]": (body(event(usage=1), event(usage=2)), "stream_ended_early", "2 content"),
    "empty body": (body(), "stream_ended_early", "0 content"),
    "not HTTP": (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "bad_stream", "not an HTTP"),
    "not JSON": (body(event(usage=1), b"data: {oops\n\n"), "bad_stream", "oops"),
    "wrong type": (body(b'data: {"choices": 7}\n\n'), "bad_stream", "choices"),
    "not a stream": (body(b'{"choices": [{"text": "all at once"}]}'), "bad_stream", "all at once"),
    "one token short": (
        body(event(usage=1), event(finish="stop", usage=2), DONE),
        "short_output",
        "2 tokens",
    ),
    "one token long": (body(*FULL, event(None, usage=4), DONE), "long_output", "4 tokens"),
    "only a role": (body(event("", finish="stop"), DONE), "no_content", "without"),
}


@pytest.mark.parametrize("case", MISBEHAVIOUR)
def test_misbehaviour_has_its_code_and_its_words(case: str) -> None:
    """A server's fault becomes a code and a sentence that says what was seen."""
    answer, code, words = MISBEHAVIOUR[case]

    record = one_request(answer)

    assert record.error_code == code
    assert record.error is not None
    assert words in record.error
    assert not record.succeeded


GOOD: dict[str, Answer] = {
    "continuous usage and [DONE]": body(*FULL, DONE),
    "no [DONE]": body(*FULL),
    "no finish reason": body(event(usage=1), event(usage=2), event(usage=3), DONE),
    "cut off after [DONE]": raw(HEAD, *(chunk(each) for each in (*FULL, DONE)), close=True),
    "no length, ends by closing": raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", *FULL, DONE, close=True
    ),
    "a 103 first": raw(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", HEAD, chunk(b"".join(FULL)), LAST_CHUNK),
    "rubbish after the end": raw(HEAD, chunk(b"".join(FULL)), LAST_CHUNK + b"rubbish"),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_complete_answer_succeeds_however_it_ends(case: str) -> None:
    """What counts is that the answer said that it had ended, with the tokens asked for."""
    record = one_request(GOOD[case])

    assert record.error is None
    assert record.output_tokens == ASKED
    assert len(record.chunk_ns) == ASKED


def test_silence_and_slowness_are_told_apart() -> None:
    """A server that says nothing is silent; one that never stops talking takes too long."""

    async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(chunk(b": still here\n\n"))
            await asyncio.sleep(0.01)

    silent = one_request(silence, Limits(request_seconds=20, silence_seconds=0.1))
    slow = one_request(endless, Limits(request_seconds=0.3, silence_seconds=20))

    assert silent.error_code == "timeout_silence"
    assert silent.first_byte_ns is None
    assert slow.error_code == "timeout_total"
    assert slow.http_status == 200


def test_a_refused_port_fails_each_request_and_ends_the_cell() -> None:
    """Nothing was sent, and the record says so."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        target = Target("127.0.0.1", unused.getsockname()[1], "tiny")

        capture = uvloop.run(drive_cell([target], [REQUEST], Load(concurrency=1), GENEROUS, 0))

    (record,) = capture.records
    assert record.error_code == "connect_failed"
    assert record.sent_ns is None
    assert record.http_status is None
    assert "refused" in (record.error or "")
    assert capture.health.verdict == "client_ok"


def test_a_name_that_nobody_has_fails_the_request() -> None:
    target = Target("no-such-host.invalid", 80, "tiny")

    (record,) = uvloop.run(drive_cell([target], [REQUEST], Load(concurrency=1), GENEROUS, 0)).records

    assert record.error_code == "connect_failed"


def test_a_server_that_slams_the_door_is_not_besieged() -> None:
    """Each request fails by itself, and idle connections are not reopened for ever."""
    accepted = 0

    async def slam(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        writer.close()

    async def main() -> set[str | None]:
        async with await asyncio.start_server(slam, "127.0.0.1", 0) as server:
            target = Target("127.0.0.1", server.sockets[0].getsockname()[1], "tiny")
            planned = [PlannedRequest(index, (index,), ASKED, None) for index in range(4)]
            capture = await drive_cell([target], planned, Load(concurrency=2), GENEROUS, 0)
            return {record.error_code for record in capture.records}

    assert uvloop.run(main()) == {"connection_lost"}
    assert accepted <= 2 + 4


def test_a_failed_request_keeps_what_had_arrived_and_does_not_spoil_the_next() -> None:
    """Chunks up to the failure stay in the record; the stream goes on over a new connection."""

    async def first_one_breaks(request: Received, writer: asyncio.StreamWriter) -> None:
        breaks = request.body["prompt"] == [0]
        answer = raw(HEAD, chunk(event(usage=1)), close=True) if breaks else stream()
        await answer(request, writer)

    async def main() -> tuple[RequestRecord, ...]:
        planned = [PlannedRequest(index, (index,), ASKED, None) for index in range(3)]
        async with serving(first_one_breaks) as fake:
            capture = await drive_cell([fake.target], planned, Load(concurrency=1), GENEROUS, 0)
        assert capture.late_connect_ns.keys() == {1}
        return capture.records

    broken, *others = uvloop.run(main())

    assert broken.error_code == "connection_lost"
    assert list(broken.chunk_tokens) == [1]
    assert [record.error_code for record in others] == [None, None]


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


def test_every_code_has_a_meaning() -> None:
    """Docs are made from this dictionary."""
    assert set(MEANINGS) == set(get_args(FailureCode))
    assert all(meaning.endswith(".") for meaning in MEANINGS.values())


def test_a_length_that_was_not_forced_is_whatever_it_is() -> None:
    async def main() -> RequestRecord:
        async with serving(body(event(usage=1), event(finish="stop", usage=1), DONE)) as fake:
            target = replace(fake.target, form=RequestForm(forced_length=False))
            capture = await drive_cell([target], [REQUEST], Load(concurrency=1), GENEROUS, 0)
            return capture.records[0]

    record = uvloop.run(main())

    assert (record.succeeded, record.output_tokens, record.requested_output_tokens) == (True, 1, ASKED)
