"""What the report on a terminal is built of: sections with a heading, and tables that a narrow one gets otherwise."""

from collections.abc import Container, Iterable

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from whichbits.language.language import Say
from whichbits.report.fitted import Fitted
from whichbits.report.sheets import Sheet
from whichbits.report.wording import plain


def print_parts(console: Console, parts: Iterable[RenderableType]) -> None:
    """Print parts of a report without the blanks that tables pad their cells with."""
    for line in console.render_lines(Group(*parts), pad=False):
        console.print(Segments([*_trimmed(line), Segment.line()]), soft_wrap=True)


def _trimmed(line: list[Segment]) -> list[Segment]:
    """Cut the blanks that tables pad their cells with."""
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


def section(title: str, more: str, *body: RenderableType) -> RenderableType:
    """Return a part with its heading, ``more`` beside it."""
    head = Text.assemble((title, "bold"), (f"  {more}" if more else "", "dim"))
    return Group(Text(""), head, *(Padding(_fitted(part), (0, 0, 0, 1)) for part in body))


def _fitted(part: RenderableType) -> RenderableType:
    """Return a table with headings as one that a narrow terminal gets in another form."""
    return Fitted(part) if isinstance(part, Table) and part.show_header else part


def sheet_table(sheet: Sheet, say: Say) -> Table:
    """Return a sheet as a table."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, heading in enumerate(sheet.headings):
        is_load = 0 < place < sheet.words
        side: JustifyMethod = "left" if place < sheet.words else "right"
        table.add_column(say(heading), justify=side, overflow="fold", no_wrap=is_load)
    before: tuple[str, ...] = ()
    for row in sheet.rows:
        # What a row has in common with the one above is not said again.
        said = [
            "" if place < sheet.words - 1 and row[: place + 1] == before[: place + 1] else cell
            for place, cell in enumerate(row)
        ]
        table.add_row(*(Text(plain(say(cell))) for cell in said))
        before = row
    return table


def table_of(*headings: str, numbers: Container[int] = ()) -> Table:
    """Return a table without rows; columns that hold ``numbers`` end at the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", justify="right" if place in numbers else "left")
    return table


def filled(table: Table, rows: Iterable[tuple[str, ...]], say: Say) -> Table:
    """Return the table with the rows."""
    for row in rows:
        table.add_row(*(Text(plain(say(part))) for part in row))
    return table
