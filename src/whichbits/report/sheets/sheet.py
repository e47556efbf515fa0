"""One table of evidence, as text, for whoever draws it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parts:
    """What one row's whole is made of: a bar, with the names of its parts in ``Sheet.parts``."""

    shares: tuple[float, ...]
    """Of the row's whole; they add up to 1."""


@dataclass(frozen=True)
class Sheet:
    """A table; its first column names a row, the first ``words`` columns hold words and the others numbers.

    ``bars`` has an entry a row, None where a part is not known, or is empty.
    """

    name: str
    title: str
    meaning: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    parts: tuple[str, ...] = ()
    bars: tuple[Parts | None, ...] = ()


def bars(rows: tuple[tuple[float | None, ...], ...]) -> tuple[Parts | None, ...]:
    """Return the bars of some rows, each as long as the others; nothing where no row has one.

    A row of which a part is not known has none: the others would be drawn as if they were all of it. A part below zero,
    as differences of means may be, has no length.
    """
    drawn = tuple(None if None in row else _parts(tuple(max(0.0, part or 0.0) for part in row)) for row in rows)
    return drawn if any(drawn) else ()


def _parts(row: tuple[float, ...]) -> Parts | None:
    whole = sum(row)
    return Parts(tuple(part / whole for part in row)) if whole else None
