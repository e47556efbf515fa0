"""A request is written as the study says, and as little as it must be beyond the OpenAI API."""

from typing import Any

import pytest

from whichbits.drive.request_body import body
from whichbits.drive.words import as_words
from whichbits.study.request import RequestForm
from whichbits.traffic.plan import Message, PlannedRequest

PLANNED = PlannedRequest(0, (1000, 1001, 1000), 7, None)
OPENAI = {"model", "prompt", "messages", "max_tokens", "temperature", "stream", "stream_options"}


def written(**form: Any) -> dict[str, Any]:
    return body("m", RequestForm.model_validate(form), PLANNED)


def test_by_default_ids_go_out_and_the_length_is_forced() -> None:
    sent = written()

    assert (sent["prompt"], sent["max_tokens"], sent["ignore_eos"]) == ((1000, 1001, 1000), 7, True)
    assert sent["stream_options"]["continuous_usage_stats"]


def test_text_has_a_word_for_each_id_and_equal_words_for_equal_ids() -> None:
    first, second, third = written(prompt="text")["prompt"].split()

    assert first == third != second
    assert len(set(as_words(range(256)).split())) == 256


def test_a_chat_has_one_message_of_a_user() -> None:
    sent = written(api="chat", prompt="text")

    assert sent["messages"] == [{"role": "user", "content": as_words(PLANNED.prompt)}]
    assert "prompt" not in sent


def test_messages_go_out_as_they_are_or_as_one_text() -> None:
    turns = (Message("system", "be brief"), Message("user", "why?"))
    planned = PlannedRequest(0, (), 7, None, messages=turns)
    chat = body("m", RequestForm(api="chat", prompt="text"), planned)
    plain = body("m", RequestForm(prompt="text"), planned)

    assert chat["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]
    assert plain["prompt"] == "be brief\n\nwhy?"


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_free_length_asks_for_nothing_that_openai_does_not_know(api: str) -> None:
    sent = written(api=api, prompt="text", forced_length=False)

    assert set(sent) <= OPENAI
    assert sent["stream_options"] == {"include_usage": True}


def test_a_chat_in_token_ids_is_refused() -> None:
    with pytest.raises(ValueError, match="takes text"):
        written(api="chat")
