"""A table that is wider than the terminal never loses a digit: names fold, or rows become paragraphs."""

import io

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.report.fitted import Fitted

NUMBERS = ("12345", "54.93", "205.1", "1007.5", "98.76")


def table() -> Table:
    made = Table("load", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("TTFT", "TPOT", "ITL", "tok/s", "req/s"):
        made.add_column(heading, justify="right", no_wrap=True)
    made.add_row("c16", *map(Text, NUMBERS))
    return made


def printed(width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(Fitted(table()))
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [25, 30, 40, 60, 80])
def test_every_number_is_whole_at_every_width(width: int) -> None:
    lines = printed(width)

    assert set(NUMBERS) <= set(" ".join(lines).replace(",", " ").split())
    assert max(map(len, lines)) <= width


def test_a_table_that_fits_stays_a_table() -> None:
    assert len(printed(60)) == 2
    assert printed(60)[0].split() == ["load", "TTFT", "TPOT", "ITL", "tok/s", "req/s"]


def test_one_that_does_not_is_a_paragraph_a_row() -> None:
    first, *others = printed(30)

    assert first == "c16"
    assert " ".join(" ".join(others).split()) == "TTFT 12345, TPOT 54.93, ITL 205.1, tok/s 1007.5, req/s 98.76"
