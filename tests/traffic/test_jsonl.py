"""Lines of your own: each field name, its aliases, what is missing, and what ids and words are sent as."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.studies import WORDS, file_of, planned, study
from whichbits.errors import BadInput
from whichbits.study.recorded_traffic import JsonlTraffic
from whichbits.traffic.jsonl import Line, line_of
from whichbits.traffic.plan import traffic_facts
from whichbits.traffic.tokens import Estimated

PLAIN = JsonlTraffic(kind="jsonl", path="x")
USER = {"role": "user", "content": "why"}


def line(record: Any, traffic: JsonlTraffic = PLAIN) -> Line | str:
    return line_of(record, traffic, Estimated())


@pytest.mark.parametrize(
    ("record", "words", "output"),
    [
        ({"prompt": "why", "output_tokens": 5}, [("user", "why")], 5),
        ({"question": "why", "max_tokens": 6}, [("user", "why")], 6),
        ({"instruction": "why", "completion": "x" * 9}, [("user", "why")], 3),
        ({"text_input": "why", "output_len": 7, "response": "x"}, [("user", "why")], 7),
        ({"messages": [USER], "max_completion_tokens": 8}, [("user", "why")], 8),
        ({"prompt": [USER], "max_new_tokens": 8}, [("user", "why")], 8),
        ({"messages": [USER, {"role": "assistant", "content": "abcde"}]}, [("user", "why")], 2),
        (
            {"messages": [{"role": "system", "content": [{"type": "text", "text": "be"}]}, USER], "output_length": 1},
            [("system", "be"), ("user", "why")],
            1,
        ),
        ({"messages": [{"from": "human", "value": "why"}, {"from": "gpt", "value": "x"}]}, [("user", "why")], 1),
        ({"custom_id": "1", "body": {"messages": [USER], "max_tokens": 3}}, [("user", "why")], 3),
    ],
)
def test_words_under_their_usual_names(record: Any, words: list[tuple[str, str]], output: int) -> None:
    assert line(record) == Line((), tuple(words), output)  # type: ignore[arg-type] # a message is a named pair


@pytest.mark.parametrize("key", ["token_ids", "prompt_token_ids", "input_ids", "prompt"])
def test_ids_under_their_usual_names(key: str) -> None:
    assert line({key: [5, 6], "output_tokens": 2}) == Line((5, 6), (), 2)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("why", "not_an_object"),
        ({"output_tokens": 4}, "no_prompt"),
        ({"prompt": "  ", "output_tokens": 4}, "no_prompt"),
        ({"prompt": [], "output_tokens": 4}, "no_prompt"),
        ({"token_ids": [1, -2], "output_tokens": 4}, "no_prompt"),
        ({"token_ids": [1, 2**31], "output_tokens": 4}, "no_prompt"),
        ({"token_ids": [1, True], "output_tokens": 4}, "no_prompt"),
        ({"messages": [USER, {"role": "user"}], "output_tokens": 4}, "no_prompt"),
        ({"prompt": "why"}, "no_output_tokens"),
        ({"prompt": "why", "output_tokens": 0}, "no_output_tokens"),
        ({"prompt": "why", "output_tokens": "4"}, "no_output_tokens"),
        ({"prompt": "why", "output_tokens": True}, "no_output_tokens"),
    ],
)
def test_a_line_that_cannot_be_sent_says_why(record: Any, reason: str) -> None:
    assert line(record) == reason


def test_the_study_can_give_the_length_that_lines_lack() -> None:
    assert line({"prompt": "why"}, PLAIN.model_copy(update={"output_tokens": 9})) == Line((), (("user", "why"),), 9)  # type: ignore[arg-type]


def test_ids_are_sent_as_they_are_and_words_under_a_salt(tmp_path: Path) -> None:
    path = file_of(tmp_path, '{"token_ids": [7, 8], "output_tokens": 3}\n{"prompt": "why", "output_tokens": 4}\n')
    traffic = {"kind": "jsonl", "path": path, "order": "file"}
    ids, words = planned(traffic, 2, request=WORDS)

    assert (ids.prompt, ids.output_tokens, ids.messages) == ((7, 8), 3, ())
    assert words.messages[0].content.endswith("\nwhy")
    assert [request.prompt for request in planned(traffic, 2)] == [(7, 8), (7, 8)]
    assert traffic_facts(study(traffic))["unusable"] == {"words_where_ids_are_sent": 1}


def test_words_alone_need_a_study_that_sends_words(tmp_path: Path) -> None:
    path = file_of(tmp_path, '{"prompt": "why", "output_tokens": 4}\n')
    with pytest.raises(BadInput) as caught:
        planned({"kind": "jsonl", "path": path}, 2)

    assert caught.value.code == "traffic_needs_text"


def test_the_order_is_the_file_s_or_drawn(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"token_ids": [at], "output_tokens": 1}) for at in range(50))
    traffic = {"kind": "jsonl", "path": file_of(tmp_path, lines)}
    shuffled = [request.prompt[0] for request in planned(traffic, 50)]

    assert [request.prompt[0] for request in planned(traffic | {"order": "file"}, 60)] == [*range(50), *range(10)]
    assert sorted(shuffled) == list(range(50)) != shuffled


odd = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
)
names = st.sampled_from(["prompt", "messages", "token_ids", "output_tokens", "completion", "body", "text"])


@settings(deadline=None)
@given(st.dictionaries(names, odd | st.lists(st.dictionaries(st.sampled_from(["role", "content"]), odd))))
def test_any_record_is_a_line_or_a_reason(record: dict[str, Any]) -> None:
    found = line(record)

    assert isinstance(found, str) or (found.output_tokens > 0 and bool(found.ids) != bool(found.messages))
