"""A table on a terminal that may be too narrow for it."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

_NAME_WIDTH = 8
"""To so many columns a name may be folded before the table is given up."""
_BOUNDLESS = 10_000
"""What a table would take is asked without a bound: within one, no table says that it takes more."""


class Fitted:
    """A table, or where its numbers would be cut or broken, a paragraph for each of its rows."""

    def __init__(self, table: Table, smaller: Table | None = None) -> None:
        """Show ``table``, whose cells are text, or ``smaller``, which has fewer columns, where that spares names."""
        self._tables = (table,) if smaller is None else (table, smaller)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table or the paragraphs, by the room there is."""
        for table in self._tables:
            if console.measure(table, options=options.update(max_width=_BOUNDLESS)).maximum <= options.max_width:
                yield table
                return
        for table in self._tables:
            if _least_width(table) <= options.max_width:
                yield _with_whole_numbers(table)
                return
        yield from _paragraphs(self._tables[0])


def _with_whole_numbers(table: Table) -> Table:
    """Let headings and names fold, and no number."""
    for column in table.columns:
        if column.justify == "right":
            column.width = _least(column)
    return table


def _least_width(table: Table) -> int:
    gap = table.padding[1] + table.padding[3]
    return sum(_least(column) + gap for column in table.columns) - gap


def _least(column: Column) -> int:
    """Return the width below which a column's numbers break: headings and words beside them may fold."""
    cells = [line for cell in column.cells for line in _text(cell).splitlines()]
    if column.no_wrap:
        return _longest([*cells, *_text(column.header).splitlines()])
    if column.justify == "right":
        return _longest([*cells, *_text(column.header).split()])
    return min(_NAME_WIDTH, _longest([word for cell in (column.header, *cells) for word in _text(cell).split()]))


def _longest(words: Sequence[str]) -> int:
    return max(map(cell_len, words), default=0)


def _paragraphs(table: Table) -> Iterator[RenderableType]:
    """Yield what names a row, and below it each value behind its heading."""
    names = _name_columns(table)
    known = [""] * names
    for row in zip_longest(*(column.cells for column in table.columns), fillvalue=""):
        cells = [" ".join(_text(cell).split()) for cell in row]
        if not any(cells):
            continue
        # What a row has in common with the one above stands only there.
        known = [cell or before for cell, before in zip(cells[:names], known, strict=True)]
        yield Text("  ".join(filter(None, known)), style="bold")
        yield Padding(Text(", ".join(_pairs(table.columns[names:], cells[names:]))), (0, 0, 0, 2))


def _name_columns(table: Table) -> int:
    """Return how many columns stand before the first of numbers; one at least."""
    sides = [column.justify for column in table.columns]
    return max(1, sides.index("right")) if "right" in sides else 1


def _pairs(columns: list[Column], cells: list[str]) -> Iterator[str]:
    said = ""
    for column, cell in zip(columns, cells, strict=True):
        heading = " ".join(_text(column.header).split())
        if heading and said:
            yield said
            said = ""
        said = " ".join(filter(None, (said, heading if cell else "", cell)))
    if said:
        yield said


def _text(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
