"""Events are the same whether a body is cut at once or while it arrives, and each is given as soon as it can be."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from whichbits.drive.answer.event_cutter import EventCutter
from whichbits.drive.answer.sse import split_events

WORDS = st.sampled_from(
    [b"data: {}", b"data: x", b"data", b"event: error", b": hm", b"\n", b"\n\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"z"]
)


def cut(pieces: list[bytes]) -> list[tuple[bytes, bool, int]]:
    """Return data, kind and number of the completing piece of each event, by the reader's protocol."""
    cutter, events = EventCutter(), []
    for number, piece in enumerate(pieces):
        if cutter.holds_event_before(piece):
            events += [(event.data, event.is_error, number - 1) for event in cutter.rest()]
        only = cutter.only_event(piece)
        if only is not None:
            events.append((only, False, number))
        else:
            events += [(event.data, event.is_error, number) for event in cutter.cut(piece)]
    return events + [(event.data, event.is_error, len(pieces) - 1) for event in cutter.rest()]


@given(st.lists(WORDS, min_size=1, max_size=14), st.data())
@example([b"data: {}", b"\r\n", b"\r", b"\n", b"data: x"], None)
def test_cuts_change_nothing(words: list[bytes], data: st.DataObject | None) -> None:
    """Against the splitter of whole bodies; the piece is that with the last byte of the blank line."""
    body = b"".join(words)
    cuts = data.draw(st.sets(st.integers(1, len(body)))) if data is not None else set(range(1, len(body)))
    edges = sorted({0, *cuts, len(body)})
    pieces = [body[start:end] for start, end in itertools.pairwise(edges)]

    whole = [(event.data, event.is_error, sum(edge < event.end for edge in edges[1:])) for event in split_events(body)]

    assert cut(pieces) == whole


def test_a_long_event_is_given_when_its_blank_line_has_come() -> None:
    cutter = EventCutter()
    for _ in range(1000):
        assert cutter.cut(b"x" * 1000) == ()

    (event,) = cutter.cut(b"\ndata: y\n\n: next")

    assert event.data == b"y"
    assert cutter.cut(b"\n\n") == []
