"""Predictions of a study with what became of them, in every report."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import Summary
from whichbits.analyze.summary.source import SOURCES
from whichbits.language.language import Say
from whichbits.language.phrase import phrase
from whichbits.report.grid import grid
from whichbits.report.wording import MISSING, plain

MARKS = {"true": "✅", "false": "❌", "undecided": "?", None: MISSING}
_NARROW = {"✅": "✓", "❌": "✗"}
"""One column wide in every terminal, which the others are not."""

TITLE = phrase("Predictions")
LEGEND = phrase("✅ true, ❌ false, ? an interval covers both, {missing} a value is not known", missing=MISSING)


@dataclass(frozen=True)
class Row:
    """One prediction as reports show it."""

    mark: str
    text: str
    measured: str


def rows(summary: Summary) -> tuple[Row, ...]:
    """Return the predictions in the study's order."""
    return tuple(Row(MARKS[each.verdict], each.text, each.measured) for each in summary.predictions)


def terminal(summary: Summary, say: Say) -> Table:
    """Return the predictions as a table for the terminal, the numbers below each."""
    table = grid(2, gap=1)
    for row in rows(summary):
        words = Text(plain(row.text))
        words.append(f"\n{plain(say(row.measured))}", style="dim")
        table.add_row(_NARROW.get(row.mark, row.mark), words)
    return table


def markdown(summary: Summary, say: Say, escaped: Callable[[str], str]) -> Iterable[str]:
    """Return the predictions as a section of Markdown; nothing if there are none."""
    if summary.predictions:
        yield f"## {say(TITLE)}"
        lines = [f"| | {say(phrase('expected'))} | {say(SOURCES[summary.source])} |", "| --- | --- | --- |"]
        lines += [f"| {row.mark} | {escaped(row.text)} | {escaped(say(row.measured))} |" for row in rows(summary)]
        yield "\n".join(lines)
        yield f"{say(LEGEND)}."
