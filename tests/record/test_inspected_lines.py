"""Each line is given once, by its number; what the file does not hold so has a number below zero."""

from whichbits.record.inspected_lines import line_numbers, numbered

TEXT = "x\n  first: 1\nfirst:   1\nwrapped\nhere\n"
LINES = {"a": "wrapped here", "b": "first: 1", "c": "first: 1", "d": "another"}


def test_lines_by_number() -> None:
    found = numbered(TEXT, LINES)

    assert found.of_facts == {"a": -1, "b": 2, "c": 2, "d": -2}
    assert found.texts == {2: "first: 1", -1: "wrapped here", -2: "another"}
    assert line_numbers(TEXT, LINES) == {"b": 2, "c": 2}


def test_a_long_line_is_cut_and_says_so() -> None:
    (text,) = numbered("", {"a": "y" * 501}).texts.values()

    assert text == "y" * 499 + "\N{HORIZONTAL ELLIPSIS}"
    assert numbered("", {"a": "y" * 500}).texts == {-1: "y" * 500}
