"""Conversations as requests: oddities skipped and counted one by one, rows without replacement, a salt in front."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.studies import WORDS, file_of, planned, study
from tests.traffic.test_inspect_dataset import GPT, HUMAN, SYSTEM, conversation
from whichbits.errors import BadInput
from whichbits.traffic.plan import traffic_facts

SALT = 17
"""Sixteen digits and the end of their line."""

ODD: list[tuple[Any, str]] = [
    (conversation(), "empty_conversation"),
    (conversation(SYSTEM), "no_question"),
    (conversation(HUMAN), "no_answer"),
    (conversation(HUMAN, HUMAN, GPT), "no_answer"),
    (conversation(("human", "  "), GPT), "empty_prompt"),
    (conversation(HUMAN, ("gpt", "")), "empty_answer"),
    ({"id": "x", "items": []}, "no_conversation"),
    ("text", "not_an_object"),
]


def numbered(count: int) -> list[dict[str, Any]]:
    return [conversation(("human", f"question {at}"), ("gpt", "x" * (4 * at + 4))) for at in range(count)]


def traffic(path: str, **more: Any) -> dict[str, Any]:
    return {"kind": "sharegpt", "path": path, **more}


def asked(folder: Path, records: list[Any], count: int, **more: Any) -> list[Any]:
    repeat, rate = more.pop("repeat", 0), more.pop("rate", None)
    path = file_of(folder, json.dumps(records))
    return planned(traffic(path, **more), count, repeat=repeat, rate=rate, request=WORDS)


def test_every_oddity_is_skipped_and_counted_with_its_first_row(tmp_path: Path) -> None:
    records = [conversation(HUMAN, GPT), *(record for record, _ in ODD), conversation(SYSTEM, HUMAN, GPT)]
    path = file_of(tmp_path, json.dumps(records))
    facts = traffic_facts(study(traffic(path), request=WORDS))

    assert (facts["rows_usable"], facts["rows_unusable"]) == (2, len(ODD))
    assert facts["unusable"] == dict(Counter(reason for _, reason in ODD))
    assert facts["first_unusable_row"]["empty_conversation"] == 2
    assert facts["first_unusable_row"]["not_an_object"] == 9
    assert (facts["bytes"], len(facts["sha256"])) == (Path(path).stat().st_size, 64)
    assert "4 characters a token" in facts["tokens"]


def test_rows_are_drawn_without_replacement_then_again_under_another_salt(tmp_path: Path) -> None:
    requests = asked(tmp_path, numbered(5), 12)
    texts = [request.messages[0].content for request in requests]

    assert sorted(text[SALT:] for text in texts[:5]) == sorted(text[SALT:] for text in texts[5:10])
    assert len({text[SALT:] for text in texts[:5]}) == 5
    assert [len({text[:SALT] for text in lap}) for lap in (texts[:5], texts[5:10], texts[10:])] == [1, 1, 1]
    assert len(set(texts)) == 12


def test_an_answer_s_tokens_are_a_quarter_of_its_characters(tmp_path: Path) -> None:
    requests = asked(tmp_path, numbered(6), 6)

    assert sorted(request.output_tokens for request in requests) == [1, 2, 3, 4, 5, 6]
    assert {request.message_tokens for request in requests} == {-(-(SALT + len("question 0")) // 4)}
    assert all(request.prompt == () and request.prompt_tokens == request.message_tokens for request in requests)


def test_repeats_ask_the_same_in_the_same_order_under_another_salt(tmp_path: Path) -> None:
    first, again = (asked(tmp_path, numbered(9), 9, repeat=repeat) for repeat in (0, 1))

    assert [r.messages[0].content[SALT:] for r in first] == [r.messages[0].content[SALT:] for r in again]
    assert {r.messages[0].content[:SALT] for r in first}.isdisjoint({r.messages[0].content[:SALT] for r in again})
    assert [r.prompt_tokens for r in first] == [r.prompt_tokens for r in again]


def test_all_turns_are_sessions_on_the_file_s_answers(tmp_path: Path) -> None:
    long = conversation(("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d"), ("human", "e"))
    requests = asked(tmp_path, [long], 3, turns="all", rate=1.0)

    assert [request.follows for request in requests] == [None, 0, None]
    assert [content[-1] for _, content in requests[1].messages] == ["a", "b", "c"]
    assert [role for role, _ in requests[1].messages] == ["user", "assistant", "user"]
    assert requests[1].messages[0] == requests[0].messages[0]
    assert requests[1].offset_ns is None
    assert requests[2].messages[0].content[:SALT] != requests[0].messages[0].content[:SALT]


def test_limits_skip_rows_and_end_sessions(tmp_path: Path) -> None:
    long = conversation(("human", "a" * 40), ("gpt", "b"), ("human", "c" * 400), ("gpt", "d"))
    records = [long, conversation(("human", "q" * 4000), GPT), conversation(HUMAN, ("gpt", "r" * 4000))]
    limits = {"longest_input": 100, "longest_output": 100}
    requests = asked(tmp_path, records, 2, turns="all", **limits)
    facts = traffic_facts(study(traffic(file_of(tmp_path, json.dumps(records)), **limits), request=WORDS))

    assert [request.follows for request in requests] == [None, None]
    assert facts["unusable"] == {"prompt_too_long": 1, "answer_too_long": 1}


def test_a_download_that_was_cut_off_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    path = file_of(tmp_path, json.dumps(numbered(4))[:-30])
    facts = traffic_facts(study(traffic(path), request=WORDS))

    assert (facts["rows_usable"], facts["unusable"]) == (3, {"not_json": 1})


def test_a_file_that_changes_is_read_anew(tmp_path: Path) -> None:
    assert len({r.messages[0].content[SALT:] for r in asked(tmp_path, numbered(2), 4)}) == 2
    assert len({r.messages[0].content[SALT:] for r in asked(tmp_path, numbered(40), 4)}) == 4


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "traffic_file_unusable"),
        ("[]", "traffic_file_unusable"),
        ("[[[[", "traffic_file_unusable"),
        ("Timestamp,Model\n1,2\n", "traffic_file_unusable"),
        (json.dumps([record for record, _ in ODD]), "traffic_file_unusable"),
        (None, "traffic_file_unreadable"),
    ],
)
def test_a_file_that_is_none_is_refused_with_what_was_found(tmp_path: Path, content: str | None, code: str) -> None:
    path = str(tmp_path / "absent") if content is None else file_of(tmp_path, content)
    with pytest.raises(BadInput) as caught:
        planned(traffic(path), 3, request=WORDS)

    assert caught.value.code == code
    assert path in caught.value.what


@pytest.mark.parametrize("content", [b"\xff\xfe\x00[", b"[\xff\xff]", bytes(range(256))])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        planned(traffic(str(path)), 3, request=WORDS)

    assert caught.value.code in {"traffic_file_unreadable", "traffic_file_unusable"}


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        planned(traffic(str(tmp_path)), 3, request=WORDS)
