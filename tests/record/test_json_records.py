"""Records come out of JSON text in every layout that tools write, and out of what is left of a broken file."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.record.json_records import read_json_records

records = st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3), min_size=1)


@given(records, st.sampled_from([None, 1]))
def test_an_array_and_lines_hold_the_same_records(values: list[Any], indent: int | None) -> None:
    assert read_json_records(json.dumps(values, indent=indent)).values == values
    assert read_json_records("\n".join(json.dumps(value) for value in values)).values == values


@given(records, st.data())
def test_an_array_that_was_cut_off_keeps_its_whole_items(values: list[Any], data: st.DataObject) -> None:
    text = json.dumps(values, indent=1)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]

    read = read_json_records(cut)

    assert read.cut_off
    assert read.values == values[: len(read.values)]
    assert len(read.values) >= cut.count("\n },")


def test_a_broken_line_is_named_and_costs_no_other() -> None:
    read = read_json_records('{"a": 1}\n{"a": \n\n{"a": 3}')

    assert read.values == [{"a": 1}, {"a": 3}]
    assert read.broken_lines == (2,)
    assert not read.cut_off


def test_a_last_line_without_its_end_is_a_cut() -> None:
    assert read_json_records('{"a": 1}\n{"a": ').cut_off


def test_what_python_writes_beyond_json_is_read() -> None:
    assert read_json_records('{"rate": Infinity, "mean": NaN}').values == [{"rate": "inf", "mean": None}]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000])
def test_absurd_nesting_and_numbers_are_no_records(text: str) -> None:
    assert read_json_records(text).values == []
