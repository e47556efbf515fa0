"""What is asked of a server, and what becomes of servers that refuse a part of it."""

import pytest

from tests.quality.fake_scorer import FakeScorer, serving
from whichbits.quality.ask import Matter, ask_arm
from whichbits.quality.asked import Asked
from whichbits.quality.client import Client, Refused
from whichbits.quality.texts import Text
from whichbits.serve.endpoint.replica import Endpoint
from whichbits.study.quality import Quality

TEXTS = (Text("prose/one", "prose", "the quick brown fox"), Text("code/two", "code", "while True: pass"))
QUESTIONS = (Text("questions/q", "questions", "Why?"),)


async def ask(scorer: FakeScorer, askings: int = 1, **asked: int) -> Asked:
    forgotten = 0

    async def forget() -> None:
        nonlocal forgotten
        forgotten += 1

    matter = Matter(Quality.model_validate({"answer_tokens": 8} | asked), TEXTS, QUESTIONS, askings)
    async with serving(scorer) as endpoint, Client(endpoint, 2) as client:
        found = await ask_arm(client, "arm", matter, forget)
    assert forgotten == (askings if found.way else 0)
    return found


async def test_texts_are_scored_and_questions_answered_as_often_as_asked() -> None:
    found = await ask(FakeScorer(), askings=2)

    assert found.way == "prompt_logprobs"
    assert [(text.name, text.asking) for text in found.texts] == [
        *[("prose/one", 0), ("code/two", 0)],
        *[("prose/one", 1), ("code/two", 1)],
    ]
    assert [len(text.tokens) for text in found.texts[:2]] == [19, 16]
    assert [answer.tokens for answer in found.answers] == [tuple(str(ord(each)) for each in "okokokok")] * 2
    assert found.notes == ()


async def test_questions_go_through_the_chat_template_where_the_server_applies_it() -> None:
    with_template, without = FakeScorer(), FakeScorer(tokenizes=False, ways=("echo",))
    await ask(with_template)
    await ask(without)

    assert "".join(map(chr, with_template.bodies[-1]["prompt"])) == "<user>Why?<assistant>"
    assert without.bodies[-1]["prompt"] == "Question: Why?\nAnswer:"
    assert "return_token_ids" not in without.bodies[-1]


async def test_texts_are_cut_to_the_studys_length() -> None:
    found = await ask(FakeScorer(), tokens=7)

    assert [len(text.tokens) for text in found.texts] == [7, 7]


@pytest.mark.parametrize("ignores", [True, False])
async def test_a_server_that_only_echoes_is_asked_so(ignores: bool) -> None:
    found = await ask(FakeScorer(ways=("echo",), ignores_others=ignores))

    assert found.way == "echo"
    assert [token.logprob for token in found.texts[0].tokens[:3]] == [None, -1.0, -1.0]


async def test_a_server_without_any_way_still_answers_questions() -> None:
    found = await ask(FakeScorer(ways=()))

    assert found.way is None
    assert found.texts == ()
    assert len(found.answers) == 1
    assert "unknown field prompt_logprobs" in found.notes[0]


async def test_a_text_that_is_refused_costs_itself_only() -> None:
    found = await ask(FakeScorer(refused="while"))

    assert [text.name for text in found.texts] == ["prose/one"]
    assert found.notes == ('code/two: HTTP 400: {"error": {"message": "too long"}}',)


async def test_a_server_that_is_gone_is_said() -> None:
    async def forget() -> None:
        raise AssertionError

    async with Client(Endpoint("127.0.0.1", 9, "fake", None), 1) as client:
        with pytest.raises(Refused, match=r"127\.0\.0\.1:9"):
            await ask_arm(client, "arm", Matter(Quality(), TEXTS, QUESTIONS), forget)
