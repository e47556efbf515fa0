"""What a server may send and what becomes of it, over real sockets: every case with its right record."""

import asyncio
import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.drive.certificates import made_up_authority
from tests.drive.fake_server import DONE, HEAD, LAST_CHUNK, Answer, Received, chunk, event, raw, serving, stream
from whichbits.drive.cell import drive_cell
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.study.request import RequestForm
from whichbits.traffic.plan import PlannedRequest

LIMITS = Limits(request_seconds=20, silence_seconds=20)
CHAT = RequestForm(api="chat", prompt="text", forced_length=False)


def drive(answer: Answer, *, asked: int = 3, form: RequestForm | None = None, **target: Any) -> RequestRecord:
    return drive_many(answer, 1, asked=asked, form=form, **target)[0]


def drive_many(
    answer: Answer, count: int, *, asked: int = 3, form: RequestForm | None = None, **target: Any
) -> Sequence[RequestRecord]:
    async def main() -> Sequence[RequestRecord]:
        async with serving(answer) as fake:
            place = replace(fake.target, form=form or RequestForm(), **target)
            planned = [PlannedRequest(index, (1, 2, 3), asked, None) for index in range(count)]
            return (await drive_cell([place], planned, Load(concurrency=1), LIMITS, 0)).records

    return asyncio.run(main())


def body(*events: bytes) -> Answer:
    """Send each of ``events`` as an HTTP chunk of its own, one write after the other."""
    return raw(HEAD, *(chunk(each) for each in events), LAST_CHUNK)


def data(payload: object) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def chat(delta: dict[str, Any], finish: str | None = None, index: int = 0, usage: int | None = None) -> bytes:
    counts = None if usage is None else {"prompt_tokens": 3, "completion_tokens": usage}
    return data({"choices": [{"index": index, "delta": delta, "finish_reason": finish}], "usage": counts})


ROLE = chat({"role": "assistant", "content": ""})
STOP = chat({}, finish="stop")
USAGE = data({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 3}})

# (events, tokens of each content chunk, output tokens by usage)
COUNTED: dict[str, tuple[tuple[bytes, ...], list[int], int | None]] = {
    "several tokens in a chunk": ((event("a", usage=2), event("b", finish="length", usage=3), DONE), [2, 1], 3),
    "a role and an empty chunk first": (
        (ROLE, chat({"content": ""}), chat({"content": "a"}), STOP, USAGE, DONE),
        [1],
        3,
    ),
    "null content first": (
        (chat({"role": "assistant", "content": None}), chat({"content": "a"}), STOP, DONE),
        [1],
        None,
    ),
    "usage in a last event of its own": (
        (chat({"content": "a"}), chat({"content": "b"}), STOP, USAGE, DONE),
        [1, 1],
        3,
    ),
    "usage on the last content chunk": (
        (event("a"), event("b"), event("c", finish="length", usage=3), DONE),
        [1, 1, 1],
        3,
    ),
    "usage on the last, empty chunk": ((event("a"), event("b"), event("", finish="length", usage=3), DONE), [1, 1], 3),
    "reasoning_content": ((ROLE, chat({"reasoning_content": "hm"}), chat({"content": "a"}), STOP, DONE), [1, 1], None),
    "reasoning": ((ROLE, chat({"reasoning": "hm"}), chat({"content": "a"}), STOP, DONE), [1, 1], None),
    "tool calls": (
        (
            ROLE,
            chat({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}),
            chat({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
            chat({}, finish="tool_calls"),
            DONE,
        ),
        [1, 1],
        None,
    ),
    "a call of a function, as it once was": ((chat({"function_call": {"arguments": "{"}}), STOP, DONE), [1], None),
    "a refusal": ((chat({"refusal": "no"}), STOP, DONE), [1], None),
    "two choices, each with its own usage": (
        (
            chat({"content": "a"}, index=0, usage=1),
            chat({"content": "b"}, index=1, usage=1),
            chat({"content": "aa"}, "stop", index=0, usage=3),
            chat({"content": "b"}, "stop", index=1, usage=2),
            data({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}),
            DONE,
        ),
        [1, 1, 2, 1],
        5,
    ),
    "both choices in a chunk": (
        (
            data(
                {"choices": [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}], "usage": {"completion_tokens": 2}}
            ),
            data(
                {"choices": [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}], "usage": {"completion_tokens": 4}}
            ),
            DONE,
        ),
        [2, 2],
        4,
    ),
    "comments and keep-alives": (
        (b": ping\n\n", event("a", usage=1), b":\n\n", event("b", usage=2), b": ping\n\n", DONE),
        [1, 1],
        2,
    ),
    "CRLF": (
        tuple(each.replace(b"\n", b"\r\n") for each in (event("a", usage=1), event("b", usage=2), DONE)),
        [1, 1],
        2,
    ),
    "no space behind the colon": (
        tuple(each.replace(b"data: ", b"data:") for each in (event("a", usage=1), DONE)),
        [1],
        1,
    ),
    "data over several lines": (
        (
            b'data: {"choices": [{"index": 0,\ndata:  "text": "a"}],\ndata:  "usage": {"completion_tokens": 1}}\n\n',
            DONE,
        ),
        [1],
        1,
    ),
    "a byte order mark": ((b"\xef\xbb\xbf" + event("a", usage=1), DONE), [1], 1),
    "names and numbers of events": ((b"event: message\nid: 1\nretry: 5\n" + event("a", usage=1), DONE), [1], 1),
}


@pytest.mark.parametrize("case", COUNTED)
def test_every_shape_of_stream_has_its_count_in_every_framing(case: str) -> None:
    """An HTTP chunk for each event, one chunk for all, and no chunks but a length."""
    events, tokens, output_tokens = COUNTED[case]
    whole = b"".join(events)
    length = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole)
    framings = iter((body(*events), body(whole), raw(length, *events)))

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        await next(framings)(request, writer)

    records = drive_many(answer, 3, form=CHAT)

    assert [record.error for record in records] == [None] * 3
    assert [list(record.chunk_tokens) for record in records] == [tokens] * 3
    assert [record.output_tokens for record in records] == [output_tokens] * 3
    assert [len(record.chunk_ns) for record in records] == [len(tokens)] * 3


def test_a_byte_at_a_time_is_the_same_answer() -> None:
    """Every cut there is: in the head, in a chunk's length, in a character, in a blank line."""
    events = (ROLE, chat({"content": "안"}, usage=2), chat({"content": "녕"}, finish="length", usage=3), DONE)
    whole = HEAD + b"".join(chunk(each.replace(b"\n", b"\r\n")) for each in events) + LAST_CHUNK

    record = drive(raw(*(whole[at : at + 1] for at in range(len(whole)))))

    assert record.error is None
    assert list(record.chunk_tokens) == [2, 1]
    assert record.chunk_ns[0] <= record.chunk_ns[1]  # a busy machine may read the bytes of both at once


def test_events_of_one_read_share_their_stamp() -> None:
    record = drive(body(event("a", usage=1) + event("b", usage=2), event("c", finish="length", usage=3), DONE))

    assert record.chunk_ns[0] == record.chunk_ns[1] <= record.chunk_ns[2]


@pytest.mark.parametrize("before", [(), (event("a", usage=1), event("b", usage=2))])
def test_an_error_in_the_stream_fails_the_request_before_and_after_its_first_token(before: tuple[bytes, ...]) -> None:
    """Even if the stream then ends as a good one does."""
    record = drive(
        body(*before, data({"error": {"message": "preempted", "code": 500}}), event("c", finish="stop"), DONE)
    )

    assert (record.error_code, record.error) == ("error_in_stream", "preempted")


@pytest.mark.parametrize(
    ("status", "code", "retry_after"),
    [(429, "rate_limited", "7"), (503, "overloaded", "Fri, 31 Dec 2027 23:59:59 GMT")],
)
def test_a_server_that_asks_for_patience_is_counted_and_not_asked_again(
    status: int, code: str, retry_after: str
) -> None:
    answer = raw(b"HTTP/1.1 %d No\r\nRetry-After: %s\r\nContent-Length: 4\r\n\r\nbusy" % (status, retry_after.encode()))
    asked: list[Received] = []

    async def count(request: Received, writer: asyncio.StreamWriter) -> None:
        asked.append(request)
        await answer(request, writer)

    records = drive_many(count, 3)

    assert len(asked) == 3
    assert {record.error_code for record in records} == {code}
    assert records[0].error == f"HTTP {status} (Retry-After: {retry_after}): busy"
    assert records[0].http_status == status


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_told_without_its_query(status: int) -> None:
    location = b"https://user:pw@elsewhere.example/v1/completions?signature=hush"

    async def main() -> RequestRecord:
        answer = raw(b"HTTP/1.1 %d Go\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location))
        async with serving(answer) as fake:
            planned = [PlannedRequest(0, (1,), 3, None)]
            capture = await drive_cell([fake.target], planned, Load(concurrency=1), LIMITS, 0)
            assert len(fake.received) == 1
            return capture.records[0]

    record = asyncio.run(main())

    assert record.error_code == "redirected"
    assert record.error == f"HTTP {status} to https://elsewhere.example/v1/completions: no body"


def test_a_compressed_answer_is_refused_and_was_never_asked_for() -> None:
    packed = gzip.compress(event("a", finish="length", usage=3) + DONE)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    asked: list[str] = []

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        asked.append(request.head)
        await raw(head + packed)(request, writer)

    record = drive(answer)

    assert "Accept-Encoding: identity" in asked[0]
    assert (record.error_code, record.error) == ("compressed", "Content-Encoding: gzip")


def test_identity_that_is_said_aloud_is_no_compression() -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: identity\r\n\r\n")

    assert drive(raw(head, chunk(event("a", finish="length", usage=3)), LAST_CHUNK)).succeeded


def test_a_server_that_quotes_the_key_is_quoted_without_it() -> None:
    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        said = next(line for line in request.head.split("\r\n") if line.startswith("Authorization")).encode()
        writer.write(b"HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))

    record = drive(answer, api_key="sk-0123456789")

    assert (record.error_code, record.error) == ("http_status", "HTTP 401: Authorization: Bearer ***")


def test_tls_is_checked_against_the_named_authority_and_its_handshake_is_before_the_clock(tmp_path: Path) -> None:
    served, authority = made_up_authority(tmp_path)

    async def main(ca_file: str | None, host: str = "127.0.0.1") -> tuple[RequestRecord, dict[int, int]]:
        async with serving(stream(), tls=served) as fake:
            target = Target(host, fake.port, "tiny", tls=True, ca_file=ca_file)
            planned = [PlannedRequest(0, (1,), 3, None)]
            capture = await drive_cell([target], planned, Load(concurrency=1), LIMITS, 0)
            return capture.records[0], capture.late_connect_ns

    trusted, late = asyncio.run(main(authority))
    doubted, _ = asyncio.run(main(None))
    elsewhere, _ = asyncio.run(main(authority, host="localhost"))

    assert trusted.error is None
    assert late == {}
    for refused in (doubted, elsewhere):
        assert refused.error_code == "connect_failed"
        assert "certificate verify failed" in str(refused.error)
        assert refused.sent_ns is None


def test_the_text_is_kept_only_where_nobody_else_counts() -> None:
    reasoned = body(chat({"reasoning_content": "hm "}), chat({"content": "안녕"}), STOP, DONE)
    called = body(chat({"content": "a"}), chat({"tool_calls": [{"index": 0}]}), STOP, DONE)

    assert drive(reasoned, form=CHAT).text is None
    assert drive(reasoned, form=CHAT, keeps_text=True).text == "hm 안녕"
    assert drive(called, form=CHAT, keeps_text=True).text is None
