"""docs/design.md: its arithmetic, and what it says of the coverage benchmark is what docs/crossover.md has."""

import math
import re

import pytest

from tests.docs.pages import page

PAGE = page("design.md")
SPREAD = 0.02
ROWS = re.findall(r"\((1\.\d+) times\) \| ([\d.]+) \| x ([\d.]+) \| x ([\d.]+) \| x ([\d.]+) \|", PAGE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"x {row[0]}")
def test_the_table_of_repeats_is_its_formula(row: tuple[str, ...]) -> None:
    slope = math.log10(float(row[0]))

    assert float(row[1]) == pytest.approx(slope, rel=0.03)
    for repeats, factor in zip((1, 3, 10), row[2:], strict=True):
        assert float(factor) == pytest.approx(math.exp(2 * SPREAD / (slope * math.sqrt(repeats))), rel=0.01)


def test_all_rows_are_read() -> None:
    assert len(ROWS) == 3


def test_the_shares_of_crossings_found_are_those_of_the_benchmark() -> None:
    table = dict(re.findall(r"^\| (\d) repeats? \| \d+ \| (\d+)% \|", page("crossover.md"), re.MULTILINE))
    found = re.search(r"one repeat found (\d+) % .* two (\d+) %,\s+three (\d+) %", " ".join(PAGE.split()))

    assert found is not None
    assert found.groups() == (table["1"], table["2"], table["3"])


def test_every_part_of_a_design_has_a_place() -> None:
    headings = " ".join(re.findall(r"^##+ (.*)$", PAGE, re.MULTILINE)).lower()
    parts = ("equal work", "cold cache", "closed and open loops", "coordinated omission", "steady window", "warm-up")

    assert [part for part in (*parts, "order", "repeats and intervals", "loads") if part not in headings] == []
    assert all(word in PAGE for word in ("Stratified", "Seeds", "paired"))
