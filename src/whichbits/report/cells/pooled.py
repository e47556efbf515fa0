"""The repeats of an arm at a load taken together: the median of their values, with its range."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import phrase
from whichbits.report.wording import load_of, load_text

Reading = Callable[[CellSummary], float | None]


@dataclass(frozen=True)
class Middle:
    """The median of ``n`` repeats, and the lowest and highest of them."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Pooled:
    """All cells of one arm at one load, in the order of their repeats."""

    arm: str
    load: float
    cells: tuple[CellSummary, ...]

    @property
    def counted(self) -> tuple[CellSummary, ...]:
        """The cells whose values stand for the arm, as comparisons use them.

        Those that ran to their end and of which the client was not the limit; else all that ran to their end; else all.
        """
        done = tuple(cell for cell in self.cells if cell.state == "done")
        return tuple(cell for cell in done if cell.client_verdict != "client_limited") or done or self.cells

    @property
    def load_text(self) -> str:
        """The load as studies write it."""
        return load_text(self.cells[0])

    def middle(self, reading: Reading) -> Middle | None:
        """Return the median of a value over the repeats that know it; None if none does."""
        values = [value for cell in self.counted if (value := reading(cell)) is not None]
        return Middle(median(values), min(values), max(values), len(values)) if values else None

    def median(self, reading: Reading) -> float | None:
        """Return the same without its range."""
        found = self.middle(reading)
        return None if found is None else found.value

    def total(self, reading: Reading) -> float | None:
        """Return the sum over the repeats; None unless all of them know the value."""
        values = [reading(cell) for cell in self.counted]
        known = [value for value in values if value is not None]
        return sum(known) if known and len(known) == len(values) else None


def pooled(summary: Summary) -> tuple[Pooled, ...]:
    """Return every arm at every load, loads rising, arms in the study's order."""
    order = {arm: place for place, arm in enumerate(summary.arms)}

    def place(cell: CellSummary) -> tuple[float, int, int]:
        return (load_of(cell, summary.load_unit) or 0.0, cell.concurrency or 0, order.get(cell.arm, len(order)))

    cells = sorted(summary.cells, key=lambda cell: (place(cell), cell.repeat))
    return tuple(_pooled(key[0], tuple(group)) for key, group in groupby(cells, key=place))


def by_arm(summary: Summary) -> tuple[Pooled, ...]:
    """Return the same, the loads of an arm side by side."""
    order = {arm: place for place, arm in enumerate(summary.arms)}
    return tuple(sorted(pooled(summary), key=lambda each: order.get(each.arm, len(order))))


def repeats(summary: Summary) -> int:
    """Return the most cells that an arm has at a load."""
    return max((len(each.cells) for each in pooled(summary)), default=0)


def repeats_text(summary: Summary) -> str:
    """Return how many cells an arm has at a load: ``9``, or ``1 to 9`` where a search repeated some more."""
    counts = [len(each.cells) for each in pooled(summary)]
    fewest, most = min(counts, default=0), max(counts, default=0)
    return str(most) if fewest == most else phrase("{fewest} to {most}", fewest=fewest, most=most)


def _pooled(load: float, cells: tuple[CellSummary, ...]) -> Pooled:
    return Pooled(cells[0].arm, load, cells)
