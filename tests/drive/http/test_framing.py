"""HTTP framing: an answer is the same however the network cuts it."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drive.fake_server import DONE, event
from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.reader import Answer
from whichbits.drive.http.framing import Framing

BODY = event(usage=1) + event(finish="length", usage=2)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x;ext=1\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n"
    % (len(BODY), BODY, len(DONE), DONE)
)
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
ANSWERS = {"chunked": CHUNKED, "content-length": LENGTH % (len(BODY + DONE), BODY + DONE)}


def receive(framing: Framing, reads: list[bytes]) -> tuple[Exchange, Answer]:
    """Feed the reads of one answer; the i-th arrives at i + 1."""
    exchange = Exchange(0, None, 2, scheduled_ns=0, due_ns=0, sent_ns=0)
    framing.begin(exchange)
    for number, read in enumerate(reads, start=1):
        framing.feed(read, number, 0)
    return exchange, framing.end()


@pytest.mark.parametrize("name", ANSWERS)
def test_one_cut_anywhere_changes_nothing(name: str) -> None:
    """At every byte boundary, over one kept-alive connection."""
    framing, whole = Framing(), ANSWERS[name]
    for cut in range(1, len(whole)):
        exchange, answer = receive(framing, [whole[:cut], whole[cut:]])

        assert (exchange.complete, exchange.status, exchange.finished_ns) == (True, 200, 2)
        assert list(answer.chunk_tokens) == [1, 1]
        assert answer.done_seen
        assert framing.reusable


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(1, len(CHUNKED) - 1)))
def test_any_number_of_cuts_moves_only_stamps(cuts: set[int]) -> None:
    """Each chunk has the stamp of the read with the last byte of its blank line."""
    edges = [0, *sorted(cuts), len(CHUNKED)]
    ends = [CHUNKED.index(b'"completion_tokens":%d}}\n\n' % count) + 25 for count in (1, 2)]

    exchange, answer = receive(Framing(), [CHUNKED[start:end] for start, end in itertools.pairwise(edges)])

    assert exchange.complete
    assert exchange.first_byte_ns == 1
    assert list(answer.chunk_ns) == [sum(edge < end for edge in edges) for end in ends]


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close", b"HTTP/1.0 200 OK"])
def test_a_closing_answer_ends_the_connection(head: bytes) -> None:
    framing = Framing()

    exchange, _ = receive(framing, [head + b"\r\nContent-Length: 1\r\n\r\nx"])

    assert exchange.complete
    assert not framing.reusable


@pytest.mark.parametrize("split", [False, True])
def test_bytes_after_the_end_spoil_the_connection_but_not_the_answer(split: bool) -> None:
    framing, rest = Framing(), LENGTH % (1, b"x")

    exchange, _ = receive(framing, [CHUNKED, rest] if split else [CHUNKED + rest])

    assert exchange.complete
    assert exchange.failure is None
    assert not framing.reusable


def test_stamps_never_run_backwards() -> None:
    """A read without the kernel's stamp may carry a later one than the next."""
    exchange = Exchange(0, None, 2, scheduled_ns=0, due_ns=0, sent_ns=50)
    framing = Framing()
    framing.begin(exchange)

    framing.feed(CHUNKED[:60], 40, 0)
    framing.feed(CHUNKED[60:120], 70, 0)
    framing.feed(CHUNKED[120:], 60, 0)

    assert (exchange.first_byte_ns, exchange.finished_ns) == (50, 70)


def test_only_chunked_answers_may_wait_to_be_looked_into() -> None:
    """The end of others does not show in how a read ends."""
    for name, waits in (("chunked", True), ("content-length", False)):
        framing = Framing()
        framing.begin(Exchange(0, None, 2, scheduled_ns=0, due_ns=0, sent_ns=0))
        assert not framing.may_wait
        framing.feed(ANSWERS[name][:70], 1, 0)
        assert framing.may_wait is waits
