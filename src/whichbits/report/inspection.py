"""What a file says, as a person reads it: facts with the line they were read from, errors, warnings and hints."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.record.inspection import Inspection, Problem
from whichbits.report.wording import plain

_HINTS = "hints"


def print_inspection(name: str, inspection: Inspection, console: Console) -> None:
    """Print one file's inspection; a fact without a line beside it was derived from others."""
    engine = " ".join(part for part in (inspection.engine, inspection.engine_version) if part)
    console.print(Text.assemble((plain(name), "bold"), f"  {inspection.kind.replace('_', ' ')}  ", plain(engine)))
    console.print(_facts(inspection))
    for title, style, problems in (
        ("errors", "red", inspection.errors),
        ("warnings", "yellow", inspection.warnings),
        (_HINTS, "cyan", [Problem(code) for code in inspection.facts.get(_HINTS) or ()]),
    ):
        if problems:
            console.print(_problems(title, style, problems))
    console.print()


def _facts(inspection: Inspection) -> Table:
    table = _table()
    for name, value in inspection.facts.items():
        if name != _HINTS:
            line = inspection.lines.get(name, "")
            table.add_row(name, Text(plain(_words(value))), Text(plain(line), style="dim", overflow="ellipsis"))
    return table


def _problems(title: str, style: str, problems: Iterable[Problem]) -> Table:
    table = _table()
    for place, problem in enumerate(problems):
        line = Text(plain(problem.line or ""), style="dim")
        table.add_row("" if place else title, Text(plain(problem.code), style=style), line)
    return table


def _table() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=44)
    table.add_column(no_wrap=True, overflow="ellipsis")
    return table


def _words(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(_words, value))
        case dict():
            return "; ".join(f"{key}: {_words(entry)}" for key, entry in value.items())
        case _:
            return f"{value:,}" if isinstance(value, int) else str(value)
