"""Any bytes become a record: with a code where they are no good answer, and the same however they were cut."""

import asyncio
import http.client
import io
import itertools
import json
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drive.fake_server import DONE, HEAD, LAST_CHUNK, Received, chunk, event, serving, stream
from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.failure import MEANINGS
from whichbits.drive.answer.outcome import to_record
from whichbits.drive.answer.reader import read_answer
from whichbits.drive.cell import drive_cell
from whichbits.record.columns import records_of, table_of
from whichbits.record.schema import Cell, RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

ASKED = 3
CODES = {None, *MEANINGS}
CHAT = b'data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "%s"}}]}\n\n'
GOOD = event("a", usage=1) + event("\xe9", usage=2) + event("c", finish="length", usage=3) + DONE
SEEDS = (
    GOOD,
    GOOD.replace(b"\n", b"\r\n"),
    b": hello\n\n" + CHAT % b"" + CHAT % "안".encode() + event("", finish="stop", usage=3) + DONE,
    event("a") + b'data: {"error": {"message": "late"}}\n\n' + DONE,
    b"\xef\xbb\xbfevent: error\ndata: {}\n\n" + GOOD,
)
_FIELDS = (b"data: ", b"data:", b"event: error\n", b"error: ", b": ", b"\n", b"\r", b"\r\n", b"\n\n", b"[DONE]", b"\0")
_JSON = (b'{"choices": [', b'{"index": 0, "text": "x"}', b"]}", b"{", b"}", b"[", b"]", b"null", b'"usage": ', b"1e999")
_MORE = (
    b'{"completion_tokens": 3}',
    b'"finish_reason": "stop"',
    b'"error": ',
    b'"abort"',
    b'"\\ud800"',
    b",",
    b"-1",
    b"\xff",
)
TOKENS = (*_FIELDS, *_JSON, *_MORE, b"9" * 30, b"4294967296", b'"\\udc80"')


def mutated(seed: bytes, draw: random.Random) -> bytes:
    """Return ``seed`` with a few of its bytes lost, doubled, moved, replaced or followed by rubbish."""
    body = bytearray(seed)
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(body) + 1)
        end = min(len(body), start + draw.randint(0, 24))
        kind = draw.randrange(5)
        if kind == 0:
            del body[start:end]
        elif kind == 1:
            body[start:start] = body[start:end]
        elif kind == 2:
            body[start:start] = draw.choice(TOKENS)
        elif kind == 3:
            body[start:end] = draw.randbytes(end - start)
        else:
            del body[end:]
    return bytes(body)


bodies = st.one_of(
    st.builds(mutated, st.sampled_from(SEEDS), st.randoms(use_true_random=False)),
    st.lists(st.sampled_from(TOKENS), max_size=30).map(b"".join),
    st.binary(max_size=200),
    st.sampled_from(SEEDS),
)


def record_of(pieces: list[bytes]) -> RequestRecord:
    """Read an answer whose i-th piece came at i, and judge it."""
    exchange = Exchange(0, None, ASKED, scheduled_ns=0, due_ns=0, status=200, complete=True)
    exchange.pieces, exchange.stamps = list(pieces), list(range(len(pieces)))
    return to_record(exchange, read_answer(exchange), 0)


def may_be_good(body: bytes) -> bool:
    """Say by other means whether ``body`` can be a whole answer: Python's json, and the standard's own words.

    It may say yes too often (types of fields are not looked at), never no to what is good.
    """
    ended = content = False
    for data, is_error in reference_events(body):
        if data.strip() == b"[DONE]":
            ended = True
            continue
        try:
            payload = json.loads(data.decode(errors="replace"))
        except (ValueError, RecursionError):
            return False
        if is_error or not isinstance(payload, dict) or payload.get("error") or payload.get("object") == "error":
            return False
        choices = [each for each in payload.get("choices") or [payload] if isinstance(each, dict)]
        reasons = [each.get("finish_reason") for each in choices]
        if "error" in reasons or "abort" in reasons:
            return False
        ended = ended or any(reasons)
        content = content or any(has_content(each) for each in choices) or bool(payload.get("usage"))
    return ended and content


class OneAnswer:
    """What ``http.client`` takes for a socket."""

    def __init__(self, sent: bytes) -> None:
        self._sent = sent

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._sent)


def wire_may_be_good(sent: bytes) -> bool:
    """Say by Python's own client, which is lenient, whether ``sent`` can be a whole good answer."""
    answer = http.client.HTTPResponse(cast("Any", OneAnswer(sent.lstrip(b"\r\n"))))
    try:
        answer.begin()
        return answer.status == 200 and may_be_good(answer.read())
    except http.client.IncompleteRead:
        # An answer that had ended before it was cut loses nothing; lengths of chunks are fields that nobody knows.
        return may_be_good(sent.partition(b"\r\n\r\n")[2])
    except (http.client.HTTPException, ValueError, OverflowError):
        return False


def has_content(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    return bool(choice.get("text") or (isinstance(delta, dict) and any(delta.values())))


def reference_events(body: bytes) -> Iterator[tuple[bytes, bool]]:
    """Read lines one by one, as the standard's text does it; the last event needs no blank line."""
    data: list[bytes] = []
    is_error = False
    for line in [*re.split(rb"\r\n|\r|\n", body.removeprefix(b"\xef\xbb\xbf")), b""]:
        if line:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field in (b"data", b"error"):
                data.append(value)
            is_error = is_error or field == b"error" or (field, value) == (b"event", b"error")
            continue
        if data:
            yield b"\n".join(data), is_error
        data, is_error = [], False


@pytest.mark.parametrize(("seed", "good"), list(zip(SEEDS, (True, True, True, False, False), strict=True)))
def test_the_seeds_are_what_they_are_meant_to_be(seed: bytes, good: bool) -> None:
    assert record_of([seed]).succeeded == may_be_good(seed) == good


@pytest.mark.parametrize("data", [b'{"x": "\xff"}', b"{}", b"", b" ", b"null"])
def test_what_the_fuzz_found(data: bytes) -> None:
    """An error event fails the request whatever it says: no UTF-8 in a field that is skipped, or nothing at all."""
    record = record_of([b"event: error\ndata: " + data + b"\n\n" + GOOD])

    assert record.error_code == "error_in_stream"
    assert record.error


@settings(max_examples=400, deadline=None)
@given(bodies)
def test_any_bytes_are_a_record_and_nothing_is_good_that_cannot_be(body: bytes) -> None:
    record = record_of([body])

    assert records_of(table_of(Cell(0, "a", 1, None, 0), [record])) == [
        replace(record, chunk_ns=tuple(record.chunk_ns), chunk_tokens=tuple(record.chunk_tokens))
    ]
    assert record.error_code in CODES
    assert (record.error is None) == (record.error_code is None)
    assert len(record.chunk_ns) == len(record.chunk_tokens)
    if not may_be_good(body):
        assert not record.succeeded


@settings(max_examples=300, deadline=None)
@given(bodies, st.lists(st.floats(0, 1), max_size=8))
def test_cutting_changes_nothing_but_stamps(body: bytes, places: list[float]) -> None:
    edges = [0, *sorted(round(place * len(body)) for place in places), len(body)]
    pieces = [body[start:end] for start, end in itertools.pairwise(edges) if end > start]
    whole, cut = record_of([body]), record_of(pieces)

    assert replace(cut, chunk_ns=()) == replace(whole, chunk_ns=())
    assert len(cut.chunk_ns) == len(whole.chunk_ns)
    assert list(cut.chunk_ns) == sorted(cut.chunk_ns)


@pytest.mark.parametrize("seed", [1, 2])
def test_rubbish_on_the_wire_fails_its_own_request_and_no_other(seed: int) -> None:
    """Heads, lengths of chunks and bodies are mutated; every other request goes to a good server, and succeeds.

    A server of its own: one that closes behind a good answer without a word breaks the next request on that connection.
    """
    draw = random.Random(seed)
    # It closes after its answer, and says so: else the next request could meet a connection that is just being closed.
    good = (
        HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        + b"".join(chunk(each) for each in (event("a", usage=1), event("c", finish="length", usage=3)))
        + LAST_CHUNK
    )
    rubbish = (
        [good] + [mutated(good, draw) for _ in range(60)] + [draw.randbytes(draw.randint(0, 80)) for _ in range(20)]
    )

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        (index,) = request.body["prompt"]
        with suppress(ConnectionError):
            writer.write(rubbish[index // 2])
            await writer.drain()
        writer.close()

    async def main() -> tuple[RequestRecord, ...]:
        async with serving(answer) as bad, serving(stream()) as well:
            planned = [PlannedRequest(index, (index,), ASKED, None) for index in range(2 * len(rubbish))]
            limits = Limits(request_seconds=20, silence_seconds=20)
            return (await drive_cell([bad.target, well.target], planned, Load(concurrency=4), limits, 0)).records

    records = asyncio.run(main())

    assert [record.index for record in records] == list(range(2 * len(rubbish)))
    assert {record.error_code for record in records} <= CODES
    assert [record.error_code for record in records[1::2]] == [None] * len(rubbish)
    possible = [wire_may_be_good(each) for each in rubbish]
    found = [record.succeeded for record in records[0::2]]
    assert found[0]
    assert sum(found) < len(found) / 2
    assert not [sent for sent, good_one, may in zip(rubbish, found, possible, strict=True) if good_one and not may]
