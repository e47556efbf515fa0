"""Event streams as engines and gateways write them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.drive.answer.sse import decode, readable_error, split_events

line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("separator", [b"data: ", b"data:"])
def test_events_are_found_whatever_ends_a_line(line_end: bytes, separator: bytes) -> None:
    """LF, CRLF and CR, with and without the space after the colon."""
    events = (b'{"a":1}', b'{"b":2}', b"[DONE]")
    body = b"".join(separator + event + 2 * line_end for event in events)

    found = split_events(body)

    assert tuple(event.data for event in found) == events
    assert found[-1].end == len(body)


@given(st.lists(st.binary(min_size=1).filter(lambda data: not set(data) & set(b"\r\n")), max_size=8), line_ends)
def test_splitting_undoes_joining(events: list[bytes], line_end: bytes) -> None:
    """Any one-line data survives, and each event ends behind its own blank line."""
    written = [b"data: " + event + 2 * line_end for event in events]

    found = split_events(b"".join(written))

    assert [event.data for event in found] == events
    assert [event.end for event in found] == [sum(map(len, written[: n + 1])) for n in range(len(written))]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b": keep-alive\n\n: again\n\ndata: x\n\n", [b"x"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b"id: 7\nevent: message\nretry: 10\ndata: x\n\n", [b"x"]),
        (b"\n\n\ndata: x\n\n\n\n\ndata: y\n\n", [b"x", b"y"]),
        (b"data\n\n", [b""]),
        (b"data:  x\n\n", [b" x"]),
        (b"\xef\xbb\xbfdata: x\n\n", [b"x"]),
        (b"data: x\n\ndata: no blank line", [b"x", b"no blank line"]),
        (b"data: x\n\ndata: y\n", [b"x", b"y"]),
        (b'{"choices": []}', []),
        (b"", []),
    ],
)
def test_fields_comments_and_loose_ends(body: bytes, data: list[bytes]) -> None:
    """Only data counts; comments, other fields and stray blank lines do not; a cut blank line is forgiven."""
    assert [event.data for event in split_events(body)] == data


@pytest.mark.parametrize(
    ("body", "is_error"),
    [(b"event: error\ndata: x\n\n", True), (b"error: x\n\n", True), (b"event: delta\ndata: x\n\n", False)],
)
def test_events_named_errors_are_marked(body: bytes, is_error: bool) -> None:
    """By the event's name, or by an ``error`` field instead of ``data``."""
    assert [event.is_error for event in split_events(body)] == [is_error]


@pytest.mark.parametrize(
    ("choice", "has_content"),
    [
        ({"text": "a"}, True),
        ({"text": ""}, False),
        ({"delta": {"role": "assistant", "content": ""}}, False),
        ({"delta": {"role": "assistant", "content": "a"}}, True),
        ({"delta": {"content": None, "reasoning": "hm"}}, True),
        ({"delta": {"reasoning_content": "hm"}}, True),
        ({"delta": {"tool_calls": [{"index": 0}]}}, True),
        ({"delta": {"tool_calls": []}}, False),
        ({"delta": {}, "finish_reason": "stop"}, False),
        ({"finish_reason": "stop"}, False),
    ],
)
def test_content_is_what_was_generated(choice: dict[str, object], has_content: bool) -> None:
    """Text, reasoning and tool calls count; a role or a finish reason alone does not."""
    (decoded,) = decode(msgspec.json.encode({"choices": [choice], "unknown": {"field": 1}})).all_choices

    assert decoded.has_content is has_content


def test_a_choice_may_stand_at_the_top() -> None:
    """Some engines leave the list of choices out."""
    payload = decode(b'{"delta": {"content": "Hi"}, "finish_reason": "stop"}')

    assert [choice.has_content for choice in payload.all_choices] == [True]
    assert payload.all_choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("busy", "busy"),
        ({"message": "busy", "code": 503}, "busy"),
        ({"error": {"error": {"message": "busy"}}}, "busy"),
        ({"detail": [{"loc": ["body"]}]}, '[{"loc":["body"]}]'),
        ({"message": "", "type": "Overloaded"}, "Overloaded"),
        ({"code": 7}, '{"code":7}'),
    ],
)
def test_errors_of_any_shape_become_one_sentence(error: object, text: str) -> None:
    """The innermost message, or the JSON itself."""
    assert readable_error(error) == text
