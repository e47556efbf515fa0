"""A table without lines for sentences on a terminal."""

from rich.table import Table


def grid(columns: int, gap: int) -> Table:
    """Return a table of so many columns with a gap between them, in which long texts fold.

    Rich counts characters, not cells, where it drops the blank at a line's end: its usual ellipsis would eat wide
    letters there.
    """
    table = Table.grid(padding=(0, gap))
    for _ in range(columns):
        table.add_column(overflow="fold")
    return table
