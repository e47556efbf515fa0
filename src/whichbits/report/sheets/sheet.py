"""One table of evidence, as text, for whoever draws it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parts:
    """What one row's whole is made of: a bar, with the names of its parts in ``Sheet.parts``."""

    shares: tuple[float, ...]
    """Of the longest bar of the table; they add up to 1 at most."""


@dataclass(frozen=True)
class Sheet:
    """A table; its first column names a row, the first ``words`` columns hold words and the others numbers.

    ``bars`` has an entry a row, or is empty.
    """

    name: str
    title: str
    meaning: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    parts: tuple[str, ...] = ()
    bars: tuple[Parts, ...] = ()


def bars(rows: tuple[tuple[float | None, ...], ...], *, each_whole: bool) -> tuple[Parts, ...]:
    """Return the bars of some rows; ``each_whole`` draws every row as long as the others.

    A part that is not known, or below zero, has no length.
    """
    lengths = [tuple(max(0.0, part or 0.0) for part in row) for row in rows]
    longest = max((sum(row) for row in lengths), default=0.0)
    return tuple(_parts(row, sum(row) if each_whole else longest) for row in lengths)


def _parts(row: tuple[float, ...], whole: float) -> Parts:
    return Parts(tuple(part / whole for part in row) if whole else tuple(0.0 for _ in row))
