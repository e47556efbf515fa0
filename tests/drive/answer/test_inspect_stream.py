"""A captured answer is read as a run would judge it, whichever engine wrote it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.drive.answer.inspect_stream import recognise
from whichbits.record.inspection import Inspection

DONE = "data: [DONE]\n\n"


def chunk(delta: Any = None, *, finish: str | None = None, **fields: Any) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return f"data: {json.dumps({'choices': choices} | fields)}\n\n"


def text_chunk(text: str, *, index: int = 0, finish: str | None = None, **fields: Any) -> str:
    choice = {"index": index, "text": text, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'text_completion', 'choices': [choice]} | fields)}\n\n"


def usage(completion: int, **details: int) -> dict[str, Any]:
    counts: dict[str, Any] = {"prompt_tokens": 7, "completion_tokens": completion}
    return counts | ({"prompt_tokens_details": details} if details else {})


OPENING = chunk({"role": "assistant", "content": ""})
WHOLE = OPENING + chunk({"content": "Ahoy"}) + chunk({"content": " there"}, finish="length") + DONE


def inspect(text: str, name: str = "capture.txt") -> Inspection:
    found = recognise(name, text)
    assert found is not None
    assert found.kind == "sse"
    assert found.facts["success"] is not bool(found.errors)
    return found


def facts(text: str) -> dict[str, Any]:
    return inspect(text).facts


def codes(text: str) -> list[str]:
    return [error.code for error in inspect(text).errors]


def test_a_chat_stream_is_counted_by_what_its_chunks_carry() -> None:
    found = facts(WHOLE)

    assert (found["success"], found["done"], found["api"], found["choices"]) == (True, True, "chat", 1)
    assert (found["role_only_chunks"], found["content_chunks"], found["text"]) == (1, 2, "Ahoy there")
    assert found["finish_reason"] == "length"
    assert found["completion_tokens"] is found["prompt_tokens"] is found["cached_tokens"] is None


@pytest.mark.parametrize(
    "variant",
    [
        WHOLE.replace("\n", "\r\n"),
        WHOLE.replace("data: ", "data:"),
        WHOLE.replace("data: ", ": waiting\n\nid: 4\nevent: message\ndata: "),
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + WHOLE,
        "> POST /v1 HTTP/1.1\n>\n< HTTP/1.1 100 Continue\n<\n< HTTP/1.1 200 OK\n< server: x\n<\n" + WHOLE,
        WHOLE.rstrip("\n"),
    ],
    ids=["crlf", "no blank", "other fields", "curl -i", "curl -v", "no last blank line"],
)
def test_framing_changes_nothing(variant: str) -> None:
    other_than_frame = facts(WHOLE).keys() - {"comments", "http_status"}

    assert {name: facts(variant)[name] for name in other_than_frame} == {
        name: facts(WHOLE)[name] for name in other_than_frame
    }


def test_a_role_in_every_chunk_does_not_make_them_role_only() -> None:
    found = facts(
        OPENING + chunk({"role": "assistant", "content": "Hm"}) + chunk({"role": "assistant"}, finish="stop") + DONE
    )

    assert (found["role_only_chunks"], found["content_chunks"]) == (1, 1)


def test_cumulative_usage_is_taken_from_its_last_chunk() -> None:
    found = facts(
        chunk({"role": "assistant"}, usage=usage(0))
        + chunk({"content": "a b c"}, usage=usage(3))
        + chunk({"content": " d"}, finish="stop", usage=usage(4))
        + chunk(usage=usage(4, cached_tokens=5))
        + DONE
    )

    assert found["tokens_after_chunk"] == [0, 3, 4]
    assert (found["prompt_tokens"], found["completion_tokens"], found["cached_tokens"]) == (7, 4, 5)


def test_timings_tell_tokens_where_no_usage_does() -> None:
    early, last = {"prompt_n": 3, "cache_n": 4, "predicted_n": 1}, {"prompt_n": 3, "cache_n": 4, "predicted_n": 2}
    stream = chunk({"content": "a"}, timings=early) + chunk({"content": "b"}, finish="stop", timings=last)

    found, with_usage = facts(stream + DONE), facts(stream + chunk(usage=usage(3)) + DONE)

    assert (found["prompt_tokens"], found["cached_tokens"], found["completion_tokens"]) == (7, 4, 2)
    assert with_usage["completion_tokens"] == 3


def test_choices_are_told_apart() -> None:
    found = facts(
        text_chunk("a") + text_chunk("x", index=1) + text_chunk("b", finish="stop") + text_chunk("y", index=1) + DONE
    )

    assert (found["api"], found["choices"], found["content_chunks"]) == ("completions", 2, 4)
    assert (found["text"], found["texts"]) == ("ab", ["ab", "xy"])


def test_reasoning_and_tool_calls_are_content_but_no_text() -> None:
    found = facts(
        chunk({"reasoning_content": "let me see"})
        + chunk({"reasoning": "so"})
        + chunk({"tool_calls": [{"index": 0}]}, finish="tool_calls")
        + DONE
    )

    assert (found["content_chunks"], found["text"], found["success"]) == (3, "", True)


def test_the_end_of_the_answer_may_be_a_finish_reason_or_done() -> None:
    without_done = facts(WHOLE.removesuffix(DONE))

    assert (without_done["success"], without_done["done"]) == (True, False)
    assert facts(chunk({"content": "a"}) + DONE)["success"]


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (OPENING + chunk({"content": "Ah"}), "stream_ended_early"),
        (OPENING + DONE, "no_content"),
        (
            OPENING + chunk({"content": "Ah"}) + 'data: {"error": {"message": "engine died"}}\n\n' + DONE,
            "error_in_stream",
        ),
        (chunk({"content": "Ah"}) + 'event: error\ndata: {"message": "engine died"}\n\n', "error_in_stream"),
        (chunk({"content": "Ah"}) + 'error: {"message": "engine died"}\n\n', "error_in_stream"),
        (chunk({"content": "Ah"}, finish="abort") + DONE, "error_in_stream"),
        (chunk({"content": "Ah"}) + 'data: {"choices": [{"del\n\n', "bad_stream"),
    ],
)
def test_a_failure_in_the_stream_has_the_code_that_a_run_gives_it(stream: str, code: str) -> None:
    assert codes(stream) == [code]


def test_a_refusal_is_read_from_status_and_body() -> None:
    body = json.dumps({"error": {"message": "too long", "type": "BadRequestError", "param": "max_tokens", "code": 400}})
    answer = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n{body}"

    for capture in (answer, body):
        found = inspect(capture)

        assert [(error.code, error.line) for error in found.errors] == [("http_status", "HTTP 400: too long")]
        assert found.facts["http_status"] == 400
        assert (found.facts["error_type"], found.facts["error_param"]) == ("BadRequestError", "max_tokens")


def test_a_body_without_a_status_invents_none() -> None:
    found = inspect('{"error": "model is loading"}')

    assert found.facts["http_status"] is None
    assert (found.facts["success"], found.facts["error_message"]) == (False, "model is loading")


def test_several_responses_of_one_capture_stay_apart() -> None:
    refused = 'HTTP/1.1 429 Too Many Requests\n\n{"error": {"message": "later"}}\n---\n'
    found = facts(refused + "HTTP/1.1 200 OK\n\n" + WHOLE)

    assert (found["records"], found["success"]) == (2, False)
    assert [each["success"] for each in found["responses"]] == [False, True]
    assert found["responses"][1]["text"] == "Ahoy there"


@pytest.mark.parametrize(
    ("fingerprint", "engine", "version"),
    [("vllm-0.31.0-abc", "vllm", "0.31.0"), ("b6000-0123abcd", "llama.cpp", "b6000"), ("fp_0123abcd", None, None)],
)
def test_only_an_unmistakable_fingerprint_names_the_engine(fingerprint: str, engine: str | None, version: str) -> None:
    found = inspect(chunk({"content": "a"}, finish="stop", system_fingerprint=fingerprint))

    assert (found.engine, found.engine_version) == (engine, version)


@pytest.mark.parametrize("text", ["", "{}", "data: yes\nmore: no\n", "INFO HTTP/1.1 200 OK", '{"choices": []}'])
def test_other_files_are_refused(text: str) -> None:
    assert recognise("some.txt", text) is None


pieces = st.lists(
    st.sampled_from(
        [OPENING, DONE, "data: ", "event: error", "HTTP/1.1 200 OK", "\n", "\r", '{"choices":', "]}", "[" * 9999]
    )
    | st.text(max_size=9)
)


@given(pieces)
def test_no_text_raises(parts: list[str]) -> None:
    recognise("capture.sse", "".join(parts))


@given(st.lists(st.text(min_size=1), min_size=1))
def test_the_text_is_what_the_chunks_said(parts: list[str]) -> None:
    stream = "".join(chunk({"content": part}) for part in parts)
    said = "".join(parts)

    found = facts(stream)

    assert found["content_chunks"] == len(parts)
    assert found["text"] == said


PASTED = (
    'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
    'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}',
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}',
    "data: [DONE]",
)


@pytest.mark.parametrize("between", ["\n\n", "\n", "\n\n\n", "\r\n", "\r\n\r\n"])
@pytest.mark.parametrize("before", ["", "> "])
def test_a_pasted_stream_reads_as_it_was_sent(between: str, before: str) -> None:
    text = "".join(before + line + between.replace("\n\n", f"\n{before}\n") for line in PASTED)

    found = recognise("issue.txt", text)

    assert found is not None
    assert found.errors == ()
    facts = {name: found.facts[name] for name in ("success", "done", "text", "content_chunks", "completion_tokens")}
    assert facts == {"success": True, "done": True, "text": "Hi", "content_chunks": 1, "completion_tokens": 1}


def test_an_error_right_before_done_is_seen_though_pasted_together() -> None:
    found = recognise("issue.txt", 'data: {"error": {"message": "too long", "code": 400}}\ndata: [DONE]\n')

    assert found is not None
    assert [(error.code, error.line) for error in found.errors] == [("error_in_stream", "too long")]
    assert found.facts["done"] is True
