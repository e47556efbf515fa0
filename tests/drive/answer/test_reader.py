"""What an answer said, and which read completed each part of it."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.drive.fake_server import DONE, event
from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.reader import Answer, AnswerReader, read_answer

MS = 1_000_000


def read(*pieces: bytes, stamps: list[int] | None = None) -> Answer:
    """Decode ``pieces``; without stamps, the i-th arrives at i."""
    exchange = Exchange(0, None, 3, scheduled_ns=0, due_ns=0, status=200)
    exchange.pieces = list(pieces)
    exchange.stamps = list(range(len(pieces))) if stamps is None else stamps
    return read_answer(exchange)


STREAM = (
    b": hello\r\n\r\n"
    + event("", usage=0)
    + event("안녕", usage=2)
    + event("x", usage=3).replace(b"\n", b"\r\n")
    + event("y", finish="length", usage=4)
    + event(None, usage=4)
    + DONE
)


@given(st.sets(st.integers(1, len(STREAM) - 1)))
def test_cuts_between_bytes_change_nothing_but_the_stamps(cuts: set[int]) -> None:
    """Any splitting gives the same chunks, each stamped by the read with its last byte."""
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(edges)]
    ends = [STREAM.index(b'"completion_tokens":%d}}' % count) for count in (2, 3, 4)]
    blank_lines = (b"\n\n", b"\r\n\r\n", b"\n\n")
    completed = [STREAM.index(blank, end) + len(blank) for end, blank in zip(ends, blank_lines, strict=True)]

    answer = read(*pieces)

    assert answer.chunk_ns == [sum(edge < byte for edge in edges[1:]) for byte in completed]
    assert answer.chunk_tokens == [2, 1, 1]
    assert (answer.output_tokens, answer.prompt_tokens) == (4, 3)
    assert (answer.finish_reason, answer.done_seen) == ("length", True)


def test_tokens_of_a_chunk_are_the_growth_of_usage() -> None:
    """Several tokens in one chunk are counted as such, and their sum is the usage."""
    answer = read(event(usage=1), event(usage=5), event(usage=9), event(finish="length", usage=10))

    assert answer.chunk_tokens == [1, 4, 4, 1]
    assert answer.output_tokens == 10


def test_a_token_without_text_is_a_chunk_when_usage_says_so() -> None:
    """Half a character is held back by the detokeniser, but the token was generated."""
    answer = read(event("", usage=1), event("é", usage=2), event("", finish="stop", usage=2))

    assert answer.chunk_ns == [0, 1]
    assert answer.chunk_tokens == [1, 1]


def test_without_continuous_usage_chunks_stay_events() -> None:
    """The final usage may differ; which chunk held the surplus is unknown, so nothing is scaled."""
    answer = read(event(), event(), event(finish="length"), event(None, usage=7), DONE)

    assert answer.chunk_tokens == [1, 1, 1]
    assert answer.output_tokens == 7


def test_usage_on_the_last_content_chunk_only_is_read_but_not_shared_out() -> None:
    """It is the total, not that chunk's growth; an empty last chunk with it is still no content."""
    on_content = read(event(), event(), event(finish="length", usage=3))
    on_empty = read(event(), event(), event("", finish="length", usage=3))

    assert (on_content.chunk_tokens, on_content.output_tokens) == ([1, 1, 1], 3)
    assert (on_empty.chunk_tokens, on_empty.output_tokens) == ([1, 1], 3)


def test_what_is_missing_is_none() -> None:
    """No usage, no counts."""
    answer = read(event(), event(finish="stop"))

    assert (answer.output_tokens, answer.prompt_tokens, answer.cached_tokens) == (None, None, None)
    assert answer.ended


def test_cached_tokens_are_read() -> None:
    """From prompt_tokens_details, where the engine reports them."""
    usage = b'{"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}'

    assert read(b'data: {"choices": [], "usage": ' + usage + b"}\n\n").cached_tokens == 8


def test_only_gaps_between_http_chunks_can_show_a_late_client() -> None:
    """Events in one piece were bundled by the server; pieces in one read may be the client's doing."""
    bundled = event(usage=1) + event(usage=2)

    answer = read(bundled, event(usage=3), event(usage=4), stamps=[0, 20 * MS, 20 * MS])

    assert answer.chunk_ns == [0, 0, 20 * MS, 20 * MS]
    assert (answer.separate_gaps, answer.short_gaps) == (2, 1)


def test_a_decoded_body_is_forgotten() -> None:
    exchange = Exchange(0, None, 3, scheduled_ns=0, due_ns=0, status=200)
    exchange.pieces, exchange.stamps = [event(), DONE], [1, 2]

    read_answer(exchange)

    assert exchange.pieces == []
    assert exchange.stamps == []


def test_gaps_that_a_late_read_closed_are_told_from_those_of_a_server_that_bundles() -> None:
    """Chunks at 0, 20, 20 and 60, 60 ms: the first pair came in a read in time, the second in one that was late."""
    reader = AnswerReader(is_stream=True)
    for at_ms, waited_ms in ((0, 0), (20, 0.5), (20, 0.5), (60, 30), (60, 30)):
        reader.feed(b'data: {"choices":[{"text":"a"}]}\n\n', at_ms * 1_000_000, round(waited_ms * 1_000_000))

    answer = reader.end()

    assert (answer.separate_gaps, answer.short_gaps) == (4, 2)
    assert (answer.bundled_gaps, answer.late_gaps, answer.merged_gaps) == (1, 2, 1)
