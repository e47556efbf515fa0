"""Data sets and traces: the format, what traffic can be made of, and why the rest cannot."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.record.inspection import Inspection
from whichbits.traffic.inspect_dataset import recognise

SYSTEM, HUMAN, GPT = ("system", "Speak as a sailor."), ("human", "How deep is it here?"), ("gpt", "Ten fathoms.")


def conversation(*turns: tuple[str, object]) -> dict[str, Any]:
    return {"id": "x", "conversations": [{"from": role, "value": text} for role, text in turns]}


def inspect(text: str) -> Inspection:
    found = recognise("data", text)
    assert found is not None
    assert found.kind == "dataset"
    assert found.facts["rows_usable"] + found.facts["rows_failed"] == found.facts["records"]
    return found


def facts(*records: Any) -> dict[str, Any]:
    return inspect(json.dumps(records)).facts


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (conversation(), "empty_conversation"),
        (conversation(SYSTEM), "no_question"),
        (conversation(HUMAN), "no_answer"),
        (conversation(HUMAN, HUMAN, GPT), "no_answer"),
        (conversation(("human", "  "), GPT), "empty_prompt"),
        (conversation(("human", None), GPT), "empty_prompt"),
        (conversation(HUMAN, ("gpt", "")), "empty_answer"),
        ({"id": "x", "items": []}, "no_conversation"),
        ("text", "not_an_object"),
    ],
)
def test_an_unusable_conversation_says_why(record: object, reason: str) -> None:
    found = facts(conversation(HUMAN, GPT), record)

    assert (found["format"], found["records"], found["rows_usable"]) == ("sharegpt", 2, 1)
    assert found["unusable"] == {reason: 1}


@pytest.mark.parametrize(
    "record",
    [
        conversation(SYSTEM, HUMAN, GPT),
        conversation(GPT, HUMAN, GPT),
        conversation(HUMAN, GPT, HUMAN, GPT),
        conversation(("User", "How deep is it here?"), ("assistant", "Ten fathoms.")),
        {"conversation": [{"role": "user", "content": [{"text": HUMAN[1]}]}, {"role": "model", "content": GPT[1]}]},
    ],
)
def test_roles_decide_which_turns_are_taken(record: object) -> None:
    found = facts(record)

    assert found["rows_usable"] == 1
    assert found["total_prompt_characters"] == len(HUMAN[1])
    assert found["total_answer_characters"] == len(GPT[1])


def test_rows_that_a_reader_by_position_would_get_wrong_are_counted() -> None:
    found = inspect(json.dumps([conversation(SYSTEM, HUMAN, GPT), conversation(HUMAN, GPT)]))

    assert (found.facts["rows_two_turns"], found.facts["rows_not_by_position"]) == (2, 1)
    assert [warning.code for warning in found.warnings] == ["roles_not_by_position"]


def test_lines_with_a_broken_one_among_them() -> None:
    lines = [json.dumps({"messages": conversation(HUMAN, GPT)["conversations"]}), '{"messages": [', "{}"]
    found = inspect("\n".join(lines))

    assert (found.facts["format"], found.facts["records"], found.facts["rows_usable"]) == ("chat_messages", 3, 1)
    assert found.facts["unusable"] == {"not_json": 1, "no_conversation": 1}


def test_a_download_that_was_cut_off_is_an_error() -> None:
    found = inspect(json.dumps([conversation(HUMAN, GPT)] * 3)[:-40])

    assert found.facts["rows_usable"] == 2
    assert [error.code for error in found.errors] == ["file_cut_off"]


def test_prompts_alone_are_a_data_set() -> None:
    found = facts({"prompt": "One?"}, {"prompt": ["Two?", "And three?"]}, {"prompt": ""})

    assert (found["format"], found["rows_usable"], found["rows_failed"]) == ("prompts", 2, 1)
    assert found["total_prompt_characters"] == 8


BURST = """\ufeffTimestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,10,20,30,API log
45.0,GPT-4,30,0,30,API log
105,GPT-4,50,60,110,API log
"""
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-05-01 10:00:00.1234567,10,20\r
2023-05-01 10:00:40,oops,4\r
2023-05-01 10:01:40.1234567,50,60\r
"""
MOONCAKE = "\n".join(
    json.dumps({"timestamp": at, "input_length": prompt, "output_length": output, "hash_ids": blocks})
    for at, prompt, output, blocks in ((0, 10, 20, [1, 2]), (3000, 0, 9, [1]), (100_000, 50, 60, [1, 3]))
)


@pytest.mark.parametrize(
    ("text", "trace_format", "reason"),
    [
        (BURST, "burstgpt", "no_output_tokens"),
        (AZURE, "azure", "unreadable_tokens"),
        (MOONCAKE, "mooncake", "no_prompt_tokens"),
    ],
)
def test_traces_tell_lengths_and_pace_of_what_is_usable(text: str, trace_format: str, reason: str) -> None:
    """Two usable requests 100 s apart, and one that is not, whatever the clock and the names of the columns."""
    found = inspect(text).facts

    assert (found["format"], found["rows_usable"], found["unusable"]) == (trace_format, 2, {reason: 1})
    assert found["span_s"] == pytest.approx(100)
    assert found["mean_request_rate"] == pytest.approx(0.01)
    assert (found["mean_prompt_tokens"], found["total_output_tokens"]) == (30, 80)


def test_columns_are_read_by_name() -> None:
    moved = "Session ID,Timestamp,Response tokens,Request tokens\na,1,2,3\nb,4,5,6\na,7,8,9\n"
    found = inspect(moved).facts

    assert (found["total_prompt_tokens"], found["total_output_tokens"], found["sessions"]) == (18, 15, 2)


def test_repeated_blocks_are_what_a_cache_could_save() -> None:
    assert inspect(MOONCAKE).facts["repeated_block_share"] == pytest.approx(1 / 4)
    assert inspect(BURST).facts["repeated_block_share"] is None


def test_a_clock_that_runs_backwards_is_told() -> None:
    lines = BURST.splitlines()

    found = inspect("\n".join([lines[0], lines[3], lines[1]]))

    assert [warning.code for warning in found.warnings] == ["timestamps_not_sorted"]


def test_a_trace_without_a_usable_row_is_an_error() -> None:
    assert [error.code for error in inspect(BURST.splitlines()[0]).errors] == ["no_usable_rows"]


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "{}", "[]", '{"duration": 1}', "INFO 03-01 start", '[{"a": "prompt"}]']
)
def test_other_files_are_refused(text: str) -> None:
    assert recognise("data.json", text) is None


odd = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.lists(st.integers(), max_size=2)
)
cells = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["1", "-1", "nan", "9" * 99]
)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    recognise("data", text)
    recognise("data", "[" + text)


@given(st.lists(st.tuples(odd, odd, odd, odd)))
def test_records_of_odd_types_are_counted_as_unusable(rows: list[tuple[Any, ...]]) -> None:
    good = {"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": []}
    found = facts(good, *(dict(zip(good, row, strict=True)) for row in rows))
    assert found["records"] == len(rows) + 1
    facts(
        conversation(HUMAN, GPT),
        *({"conversations": row} for row in rows),
        *({"conversations": [*row]} for row in rows),
    )


@given(st.sampled_from([BURST, AZURE]), st.lists(st.lists(cells, max_size=8)))
def test_tables_of_odd_cells_never_raise(table: str, rows: list[list[str]]) -> None:
    recognise("trace.csv", table + "\n".join(",".join(row) for row in rows))


@pytest.mark.parametrize(
    ("text", "data_format", "usable"),
    [
        ('["why", "how", ""]', "prompts", 2),
        ('{"question_id": 1, "turns": ["why", "and then"]}\n', "prompts", 1),
        ('{"text": "once upon a time"}\n{"text": 5}\n', "prompts", 1),
        ('{"prompt": [{"role": "user", "content": "why"}]}\n', "prompts", 1),
        ('{"custom_id": "1", "url": "/v1/completions", "body": {"model": "m", "prompt": "why"}}\n', "prompts", 1),
        (
            '{"rows": [{"row_idx": 0, "row": {"prompt": "why"}}, {"row_idx": 1, "row": {"prompt": "how"}}]}',
            "prompts",
            2,
        ),
        (
            '{"data": [{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}]}',
            "sharegpt",
            1,
        ),
    ],
)
def test_records_in_the_wrappings_that_files_have(text: str, data_format: str, usable: int) -> None:
    found = recognise("data", text)

    assert found is not None
    assert (found.facts["format"], found.facts["rows_usable"]) == (data_format, usable)
