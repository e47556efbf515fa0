"""Answers that are no streams: errors in the shapes of several servers, and whole completions."""

import json
from typing import Any

import pytest

from whichbits.drive.answer.inspect_stream import recognise
from whichbits.record.inspection import Inspection

PAGE = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><hr>nginx/1.24.0</body>\r\n</html>\r\n"


def read(text: str) -> Inspection:
    found = recognise("capture.txt", text)
    assert found is not None
    assert found.kind == "sse"
    return found


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ('{"error":{"message":"too long","type":"BadRequestError","param":"max_tokens","code":400}}', 400, "too long"),
        ('{"object":"error","message":"no such model","type":"NotFoundError","code":404}', 404, "no such model"),
        ('{"error":"Model is overloaded","error_type":"overloaded"}', None, "Model is overloaded"),
        ('{"detail":"Not Found"}', None, "Not Found"),
        ('{"detail":[{"loc":["body","model"],"msg":"field required","type":"x"}]}', None, "body.model: field required"),
        (PAGE, 502, "502 Bad Gateway"),
    ],
)
def test_an_error_body_says_its_message_and_its_status(body: str, status: int | None, message: str) -> None:
    found = read(body)

    assert found.facts["success"] is False
    assert found.facts["http_status"] == status
    assert found.facts["error_message"] == message
    assert message in str(found.errors[0].line)


def test_the_status_line_is_surer_than_the_body() -> None:
    found = read(f"HTTP/1.1 503 Service Unavailable\r\nserver: nginx\r\n\r\n{PAGE}")

    assert found.facts["http_status"] == 503
    assert [(error.code, error.line) for error in found.errors] == [("overloaded", "HTTP 503: 502 Bad Gateway")]


def whole(**parts: Any) -> str:
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    return json.dumps({"id": "x", "usage": usage} | parts)


def test_a_whole_chat_answer() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}

    found = read(whole(object="chat.completion", choices=[choice]))

    assert found.errors == ()
    assert found.facts == {
        "success": True, "http_status": None, "api": "chat", "stream": False, "finish_reason": "stop",
        "prompt_tokens": 4, "cached_tokens": 1, "completion_tokens": 2, "choices": 1, "text": "hello",
    }  # fmt: skip


def test_a_whole_completion_of_two_choices() -> None:
    choices = [{"index": index, "text": text, "finish_reason": "length"} for index, text in enumerate("ab")]

    facts = read(f"HTTP/1.1 200 OK\n\n{whole(object='text_completion', choices=choices)}").facts

    assert (facts["api"], facts["choices"], facts["texts"], facts["http_status"]) == ("completions", 2, ["a", "b"], 200)


@pytest.mark.parametrize(
    "text",
    ['{"detail": 3}', '{"detail": "x", "more": 1}', "<html><title>My page</title></html>", '{"object":"list"}',
     '{"object":"chat.completion","choices":[]}'],
)  # fmt: skip
def test_other_json_and_pages_are_no_answers(text: str) -> None:
    assert recognise("capture.txt", text) is None
