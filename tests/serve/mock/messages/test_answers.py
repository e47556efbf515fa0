"""The shape of an answer: events, usage, roles, bundles, and the pages beside it."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serve.mock.wire import mock, read_all, request
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.metrics.facts import recognise
from whichbits.serve.mock.messages.asked import Refused, read_body, read_wire

USAGE: dict[str, Any] = {"stream_options": {"include_usage": True}}
CONTINUOUS: dict[str, Any] = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}


def test_a_stream_has_a_chunk_a_token_and_ends_in_order() -> None:
    with mock() as served:
        reply = served.complete(tokens=3)

    assert reply.status == 200
    assert reply.events[-1] == "[DONE]"
    finishes = [chunk["choices"][0]["finish_reason"] for chunk in reply.chunks]
    assert finishes == [None, None, "length"]
    assert all(chunk["choices"][0]["text"] for chunk in reply.chunks)


def test_usage_comes_as_the_request_asks() -> None:
    with mock() as served:
        none, final, continuous = served.complete(), served.complete(**USAGE), served.complete(**CONTINUOUS)

    assert not any("usage" in chunk for chunk in none.chunks)
    assert [("usage" in chunk, bool(chunk["choices"])) for chunk in final.chunks] == [(False, True)] * 3 + [
        (True, False)
    ]
    assert [chunk["usage"]["completion_tokens"] for chunk in continuous.chunks] == [1, 2, 3, 3]
    assert final.chunks[-1]["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize(("usage", "told"), [("none", 0), ("final", 1), ("continuous", 4)])
def test_usage_comes_as_the_mock_is_told_whatever_is_asked(usage: str, told: int) -> None:
    with mock(usage=usage) as served:
        assert sum("usage" in chunk for chunk in served.complete(**USAGE).chunks) == told


def test_a_chunk_may_hold_several_tokens_and_a_send_several_chunks() -> None:
    with mock(tokens_per_chunk=2, events_per_send=2) as served:
        reply = served.complete(tokens=9, **CONTINUOUS)
        (true,) = served.truth()

    assert [chunk["usage"]["completion_tokens"] for chunk in reply.chunks] == [2, 4, 6, 8, 9, 9]
    assert true.tokens == [[2, 2], [2, 2], [1]]
    assert len(true.chunk_ns) == 5
    assert true.chunk_ns[0] == true.chunk_ns[1]


@pytest.mark.parametrize("role_chunk", ["with_token", "early", "none"])
def test_a_chat_may_begin_with_its_role_alone(role_chunk: str) -> None:
    with mock(role_chunk=role_chunk, reasoning_tokens=1) as served:
        reply = served.chat(tokens=2)

    deltas = [chunk["choices"][0]["delta"] for chunk in reply.chunks]
    if role_chunk != "none":
        assert deltas.pop(0) == {"role": "assistant", "content": ""}
    assert [list(delta) for delta in deltas] == [["reasoning_content"], ["content"]]
    with_head = b'"role"' in reply.raw[: reply.raw.find(b'"reasoning_content"')]
    assert with_head == (role_chunk != "none")


def test_an_answer_that_is_not_streamed_comes_whole_at_its_end() -> None:
    with mock(ttft_ms=3, itl_ms=4) as served:
        reply = served.ask("/v1/completions", {"prompt": "two words", "max_tokens": 3})
        (true,) = served.truth()

    assert reply.json["usage"] == {
        "prompt_tokens": 2,
        "completion_tokens": 3,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert len(reply.json["choices"][0]["text"].split()) == 3
    assert true.due_ns[0] - (true.admitted_ns or 0) >= 11_000_000  # a first token and two more


def test_requests_on_one_connection_are_answered_in_turn() -> None:
    body = {"prompt": [1], "max_tokens": 2, "stream": True}
    with mock() as served, served.connect() as wire:
        wire.sendall(request("/v1/completions", body) + request("/health", headers="Connection: close\r\n"))
        raw = read_all(wire).raw

    assert raw.index(b"[DONE]") < raw.rindex(b"HTTP/1.1 200 OK")
    assert raw.count(b"HTTP/1.1 200 OK") == 2


def test_a_request_is_named_in_its_answer_and_in_the_truth() -> None:
    with mock() as served:
        reply = served.ask("/v1/completions", {"prompt": [5, 6], "stream": True}, headers="X-Request-Id: mine\r\n")
        served.complete(user="theirs")
        first, second = served.truth()

    assert "X-Request-Id: mine" in reply.head
    assert (first.request_id, first.prompt_head) == ("mine", (5, 6))
    assert second.request_id == "theirs"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/nowhere", None, 404),
        ("/v1/completions", {"prompt": []}, 400),
        ("/v1/completions", {"prompt": [1], "n": 2}, 400),
        ("/v1/completions", {"prompt": 3}, 400),
        ("/v1/completions", ["no object"], 400),
    ],
)
def test_what_is_no_request_is_refused_in_the_shape_of_the_api(path: str, body: object, status: int) -> None:
    with mock() as served:
        reply = served.ask(path, body)

    assert reply.status == reply.json["error"]["code"] == status


def test_what_is_no_http_is_refused_and_the_next_client_served() -> None:
    with mock() as served:
        with served.connect() as wire:
            wire.sendall(b"\x16\x03\x01 hello\r\n\r\n")
            assert read_all(wire).status == 400
        assert served.ask("/health").status == 200


async def test_the_control_client_finds_what_it_needs() -> None:
    with mock(model="any/name") as served:
        async with ControlClient(f"http://127.0.0.1:{served.port}") as control:
            assert await control.models() == ("any/name",)
            assert len(await control.tokenize("a b a")) == 3
            assert (await control.reset_prefix_cache()).succeeded
            assert await control.version() == "whichbits-mock"


def test_counters_are_vllms_and_add_up() -> None:
    with mock(prefix_cache=True) as served:
        prompt = list(range(40))
        served.complete(tokens=5, prompt=prompt)
        served.complete(tokens=5, prompt=prompt)
        text = served.ask("/metrics").body.decode()

    found = recognise("", text)
    assert found is not None
    assert found.engine == "whichbits-mock (vllm names)"
    assert found.facts["prompt_tokens"] == 80
    assert found.facts["generation_tokens"] == 10
    assert found.facts["requests_finished_total"] == 2
    assert (found.facts["prefix_cache_queries"], found.facts["prefix_cache_hits"]) == (80, 32)  # two whole blocks


def test_a_reset_empties_the_prefix_cache_and_a_cached_prompt_is_told() -> None:
    with mock(prefix_cache=True) as served:
        cached = []
        for _ in range(2):
            served.complete(prompt=[9] * 33, **USAGE)
            cached.append(served.complete(prompt=[9] * 33, **USAGE).chunks[-1]["usage"]["prompt_tokens_details"])
            served.ask("/reset_prefix_cache", {})
        hits = [true.cached_tokens for true in served.truth()]

    assert cached == [{"cached_tokens": 32}] * 2
    assert hits == [0, 32, 0, 32]


def test_a_client_that_leaves_frees_its_slot_and_is_counted() -> None:
    with mock(slots=1, itl_ms=5) as served:
        with served.connect() as wire:
            wire.sendall(request("/v1/completions", {"prompt": [1], "max_tokens": 100_000, "stream": True}))
            wire.recv(1000)
            assert served.metric("vllm:num_requests_running") == 1
        assert served.complete(tokens=2).events[-1] == "[DONE]"
        assert served.metric("vllm:num_requests_running") == 0
        assert [true.outcome for true in served.truth()] == ["aborted", "done"]
        assert 'finished_reason="abort"} 1' in served.ask("/metrics").body.decode()


def test_the_truth_can_be_emptied_and_is_bounded() -> None:
    with mock(truth_requests=2) as served:
        for _ in range(3):
            served.complete(tokens=1)
        assert [true.number for true in served.truth()] == [1, 2]
        served.ask("/truth", method="DELETE")
        assert served.truth() == []
        assert json.loads(served.ask("/truth").body)["clock"] == "CLOCK_MONOTONIC"


def test_a_name_that_would_break_out_of_a_header_is_not_echoed() -> None:
    with mock() as served:
        reply = served.complete(user="a\r\nSet-Cookie: b")
        (true,) = served.truth()

    assert "Set-Cookie" not in reply.head
    assert "X-Request-Id: 0" in reply.head
    assert true.request_id == "a\r\nSet-Cookie: b"


@given(st.binary(max_size=300) | st.from_regex(rb"POST /v1/completions HTTP/1.1\r\n.{0,80}\r\n\r\n.{0,80}"))
def test_no_bytes_break_the_reading_of_requests(data: bytes) -> None:
    with suppress(Refused):
        wire = read_wire(data)
        if wire is not None:
            assert wire.length <= len(data)
            read_body(wire.body)
