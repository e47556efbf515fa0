"""Amounts in words, and nowhere else a noun that a lone one would make wrong."""

import re

import pytest

from tests.language.phrases_in_source import templates
from whichbits.analyze.amounts import arms, cells, cells_of, steps

COUNTED = re.compile(r"\{\w+(?::[^{}]*)?\} (?:more )?(?:arms|cells|steps|repeats|runs)\b")
ALWAYS_SEVERAL = {
    " ({more} more repeats)",
    " ({repeats} repeats)",
    "{most} more repeats of the study",
    ", as wide as those of all repeats together; points are medians of {repeats} repeats",
    " Numbers are medians of the repeats, ± half their range where it exceeds half a percent.",
    "{part} of {of} repeats of {loads} left out: {why}",
    "{unused} of {count} repeats not used ({why})",
    "± half the range of the {repeats} repeats; the number is their median",
    "medians of {repeats} repeats, ± half their range from half a percent on",
}
"""Said only where there are two or more."""


@pytest.mark.parametrize(("count", "said"), [(0, "0 arms"), (1, "1 arm"), (4, "4 arms")])
def test_one_is_singular(count: int, said: str) -> None:
    assert arms(count) == said
    assert cells(count) == said.replace("arm", "cell")
    assert steps(count) == said.replace("arm", "step")


@pytest.mark.parametrize(
    ("count", "total", "said"),
    [
        (1, 1, "the only cell"),
        (2, 2, "both cells"),
        (8, 8, "all 8 cells"),
        (3, 8, "3 of 8 cells"),
        (0, 1, "0 of 1 cell"),
    ],
)
def test_some_of_so_many(count: int, total: int, said: str) -> None:
    assert cells_of(count, total) == said


def test_no_other_text_counts_things_of_which_there_may_be_one() -> None:
    elsewhere = {text: place for text, place in templates().items() if not place.endswith("amounts.py")}

    assert [text for text in elsewhere if COUNTED.search(text) and text not in ALWAYS_SEVERAL] == []
