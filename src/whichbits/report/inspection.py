"""What a file says, as a person reads it: facts with the line each was read from, errors, warnings and hints."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whichbits.record.inspection import Inspection, Problem
from whichbits.report.wording import plain

_HINTS = "hints"
_VALUE_WIDTH = 60


def print_inspection(name: str, inspection: Inspection, console: Console) -> None:
    """Print one file's inspection; the number beside a fact is that of its line, without one it was derived."""
    numbers = {line: place for place, line in enumerate(dict.fromkeys(inspection.lines.values()), start=1)}
    engine = " ".join(part for part in (inspection.engine, inspection.engine_version) if part)
    console.print(Text.assemble((plain(name), "bold"), f"  {inspection.kind.replace('_', ' ')}  ", plain(engine)))
    console.print(_facts(inspection, numbers))
    for title, style, problems in (
        ("errors", "red", inspection.errors),
        ("warnings", "yellow", inspection.warnings),
        (_HINTS, "cyan", [Problem(code) for code in inspection.facts.get(_HINTS) or ()]),
    ):
        if problems:
            console.print(_problems(title, style, problems))
    if numbers:
        console.print(_lines(numbers))
    console.print()


def _facts(inspection: Inspection, numbers: dict[str, int]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=_VALUE_WIDTH)
    table.add_column(no_wrap=True, justify="right", style="dim")
    for name, value in inspection.facts.items():
        if name != _HINTS:
            number = numbers.get(inspection.lines.get(name, ""))
            table.add_row(f"  {name}", Text(plain(_words(value))), "" if number is None else str(number))
    return table


def _problems(title: str, style: str, problems: Iterable[Problem]) -> Group:
    rows: list[RenderableType] = [Text(title, style="italic")]
    for problem in problems:
        rows.append(Padding(Text(plain(problem.code), style=style), (0, 0, 0, 2)))
        if problem.line:
            rows.append(Padding(Text(plain(problem.line), style="dim", overflow="fold"), (0, 0, 0, 4)))
    return Group(*rows)


def _lines(numbers: dict[str, int]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, justify="right", min_width=len(f"  {len(numbers)}"))
    table.add_column(no_wrap=True, overflow="ellipsis")
    for line, number in numbers.items():
        table.add_row(Text(f"  {number}", style="dim"), Text(plain(line), style="dim"))
    return table


def _words(value: Any) -> str:
    match value:
        case None | bool():
            return {None: "none", True: "yes", False: "no"}[value]
        case list():
            return ", ".join(map(str, value))
        case dict():
            return "; ".join(f"{key}: {_words(entry)}" for key, entry in value.items())
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case _:
            return str(value)
