"""Faults of reading a stream: what is a token, a chunk, a gap, an end."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.conduct.cells.test_token_counts import counted
from tests.drive.fake_server import DONE, HEAD, LAST_CHUNK, Answer, Received, chunk, event, raw, stream
from tests.drive.test_protocol import ROLE, chat
from tests.faults.measured import MS, measure, planned
from tests.record.make_run import record
from whichbits.study.arm import Arm
from whichbits.study.model import Load, Slo
from whichbits.traffic.plan import PlannedRequest

ONE = Load(concurrency=1)
LONG_TEXT = "x" * 300_000


def test_fault_03_a_small_read_buffer_makes_long_contexts_slow() -> None:
    """vllm#39963. A prompt of 50,000 ids and events of 300 KB pass whole; the server never has to wait to write."""
    events = [event(LONG_TEXT, usage=n, finish="length" if n == 12 else None) for n in range(1, 13)]
    prompt = tuple(range(50_000))

    found = measure(
        raw(HEAD, *(chunk(each) for each in events), chunk(DONE), LAST_CHUNK),
        [PlannedRequest(0, prompt, 12, None)],
        ONE,
    )

    assert [each.error for each in found.records] == [None]
    assert list(found.records[0].chunk_tokens) == [1] * 12
    assert len(found.server.received[0].body["prompt"]) == 50_000


def test_fault_06_chunks_are_counted_as_tokens() -> None:
    """vllm#37666. Twenty-four tokens in three chunks of eight are twenty-four, in the total and in the window."""
    found = measure(stream(first_s=0.01, gap_s=0.01, tokens_per_chunk=(8, 8, 8)), planned(6, output_tokens=24), ONE)
    summary = found.summary

    assert summary.output_tokens == 6 * 24
    assert summary.duration_s is not None
    assert summary.output_tokens_per_s == pytest.approx(6 * 24 / summary.duration_s)
    assert summary.steady_output_tokens_per_s is not None
    assert summary.output_tokens_per_s is not None
    assert summary.steady_output_tokens_per_s > summary.output_tokens_per_s / 2
    assert summary.itl_ms.n == 6 * 2


@pytest.mark.parametrize("tail", [(DONE,), (event(finish="length", usage=3), DONE)])
def test_fault_07_an_error_after_the_first_token_is_a_success(tail: Sequence[bytes]) -> None:
    """vllm PR #57519. It fails, has no latency, and counts against goodput."""
    said = b'data: {"error": {"message": "engine dead"}}\n\n'
    breaks = raw(HEAD, *(chunk(each) for each in (event(usage=1), said, *tail)), LAST_CHUNK)

    async def every_other(request: Received, writer: asyncio.StreamWriter) -> None:
        await (breaks if request.body["prompt"][0] % 2 else stream())(request, writer)

    found = measure(every_other, planned(4, output_tokens=3), ONE, slo=Slo(ttft_ms=60_000))

    assert [each.error_code for each in found.records] == [None, "error_in_stream"] * 2
    assert found.summary.errors == {"error_in_stream": 2}
    assert found.summary.ttft_ms.n == 2
    assert found.summary.slo_share == 0.5


def test_fault_07_a_stream_that_merely_stops_is_a_success() -> None:
    """The same report: neither [DONE] nor a finish reason is an answer cut short, whatever had arrived."""
    found = measure(raw(HEAD, chunk(event(usage=1)), chunk(event(usage=2)), LAST_CHUNK), planned(1), ONE)

    assert found.summary.errors == {"stream_ended_early": 1}


def test_fault_08_ttft_leaks_into_itl() -> None:
    """vllm#7242. Gaps lie between content chunks only: n - 1 a request, and they add up to last - first."""
    found = measure(stream(first_s=0.2, gap_s=0.05), planned(3, output_tokens=6), Load(concurrency=3))
    spans_ms = [(each.chunk_ns[-1] - each.chunk_ns[0]) / MS for each in found.records]
    itl = found.summary.itl_ms

    assert itl.n == 3 * 5
    assert itl.mean is not None
    assert itl.mean * itl.n == pytest.approx(sum(spans_ms))
    assert found.summary.ttft_ms.p50 is not None
    assert found.summary.ttft_ms.p50 >= 199


@pytest.mark.parametrize("early", [ROLE, chat({"content": ""}), event("", usage=0), b": keep-alive\n\n"])
def test_fault_09_a_role_or_an_empty_chunk_is_the_first_token(early: bytes) -> None:
    """vllm#15106, #3759. The clock of TTFT stops at the first chunk with something generated."""

    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(early))
        await asyncio.sleep(0.1)
        writer.write(chunk(event("a", finish="length", usage=1)) + chunk(DONE) + LAST_CHUNK)

    found = measure(answer, planned(1, output_tokens=1), ONE)
    (only,) = found.records

    assert only.error is None
    assert only.sent_ns is not None
    assert only.first_byte_ns is not None
    # A client that is late reads both at once, and then the first byte has the stamp of the token.
    assert only.first_byte_ns <= only.chunk_ns[0]
    assert only.chunk_ns[0] - only.sent_ns >= 98 * MS
    assert len(only.chunk_ns) == 1


def test_fault_10_bundled_tokens_make_itl_meaningless() -> None:
    """vllm#27485, #28183, #42661. Gaps are of chunks and named so; tokens of each are kept; TPOT counts tokens."""
    found = measure(stream(gap_s=0.1, tokens_per_chunk=(1, 4, 4, 1)), planned(1, output_tokens=10), ONE)
    (only,) = found.records

    assert tuple(only.chunk_tokens) == (1, 4, 4, 1)
    assert found.summary.itl_ms.n == 3
    assert found.summary.tpot_ms.p50 == pytest.approx((only.chunk_ns[-1] - only.chunk_ns[0]) / 9 / MS)


async def test_fault_19_tokens_are_counted_chunk_by_chunk_with_a_bos_each() -> None:
    """inference-perf#364, #410, #564. A text is counted once, whole, without special tokens; the usage goes first."""
    seen: list[str] = []

    def tokenizer(asked: dict[str, object]) -> dict[str, list[str]]:
        seen.append(str(asked["prompt"]))
        return {"tokens": [*(["<s>"] if asked["add_special_tokens"] else []), *str(asked["prompt"]).split()]}

    arm = Arm.model_validate({"weight_format": "bf16", "model": "m", "engine": "openai", "target": "http://h:1"})
    untold = replace(record(0, n=4), output_tokens=None, text="one two three four")

    assert await counted([untold], arm, tokenizer) == ([4], "tokenize endpoint")
    assert set(seen) == {"one two three four"}


def test_fault_24_a_buffered_answer_has_millions_of_tokens_a_second() -> None:
    """genai-bench#110. Where all came in one read no time between tokens was seen: no TPOT, and it is counted."""
    whole = b"".join(event("x", usage=n, finish="length" if n == 50 else None) for n in range(1, 51)) + DONE
    found = measure(raw(HEAD + chunk(whole) + LAST_CHUNK), planned(2, output_tokens=50), ONE)

    assert [each.error for each in found.records] == [None, None]
    assert [len(set(each.chunk_ns)) for each in found.records] == [1, 1]
    assert found.summary.tpot_ms.n == 0
    assert found.summary.tpot_ms.p50 is None
    assert found.summary.excluded_from_tpot == 2
    assert found.summary.output_tokens == 100


def test_also_usage_on_the_last_content_chunk_is_read() -> None:
    """Section 2.1: usage is read only from a chunk without choices, so that the count falls back to a guess."""
    events = (event("a"), event("b"), event("c", finish="length", usage=5))
    found = measure(
        raw(HEAD, *(chunk(each) for each in events), chunk(DONE), LAST_CHUNK), planned(1, output_tokens=5), ONE
    )

    assert [each.output_tokens for each in found.records] == [5]


def test_also_a_failed_request_is_no_silent_gap_in_goodput() -> None:
    """aiperf#688. Errors are out of latencies and in the denominator of goodput, by code."""

    async def busy_twice(request: Received, writer: asyncio.StreamWriter) -> None:
        refusal: Answer = raw(b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
        await (refusal if request.body["prompt"][0] < 2 else stream())(request, writer)

    found = measure(busy_twice, planned(8), ONE, slo=Slo(e2e_ms=60_000))

    assert found.summary.errors == {"overloaded": 2}
    assert found.summary.slo_share == 0.75
    assert found.summary.e2e_ms.n == 6
