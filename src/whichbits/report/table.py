"""The table of cells that the terminal, HTML and Markdown share: grouped by load, the best marked."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.report.measures import MEASURES, Measure
from whichbits.report.wording import BEST, MISSING, THIN, VERDICTS, load_of, load_text, number


@dataclass(frozen=True)
class Value:
    """One number as it stands in a table."""

    number: float | None
    thin: bool
    best: bool

    @property
    def text(self) -> str:
        """The number with its thin mark, without the best mark: ``~105``."""
        if self.number is None:
            return MISSING
        return f"{THIN if self.thin else ''}{number(self.number)}"

    @property
    def marked(self) -> str:
        """The number with both marks, as wide whether best or not, so that columns align: ``~105*``."""
        return f"{self.text}{BEST if self.best else ' '}"


@dataclass(frozen=True)
class Row:
    """One cell of the study; ``values`` follow ``MEASURES``."""

    cell: CellSummary
    load: str
    name: str
    values: dict[str, Value]

    @property
    def verdict(self) -> str:
        """The client's verdict in a word."""
        return VERDICTS.get(self.cell.client_verdict, self.cell.client_verdict or MISSING)


def groups(summary: Summary) -> tuple[tuple[Row, ...], ...]:
    """Return the rows of each load together, loads rising, arms in the study's order."""
    return tuple(_group(summary, cells) for cells in _by_load(summary))


def has_thin(summary: Summary) -> bool:
    """Say whether any shown percentile is thin, so that a legend is needed."""
    return any(value.thin for group in groups(summary) for row in group for value in row.values.values())


def _by_load(summary: Summary) -> Iterable[tuple[CellSummary, ...]]:
    order = {arm: place for place, arm in enumerate(summary.arms)}

    def load(cell: CellSummary) -> tuple[float, float]:
        return (load_of(cell, summary.load_unit) or 0.0, cell.concurrency or 0)

    def place(cell: CellSummary) -> tuple[tuple[float, float], int, int]:
        return (load(cell), order.get(cell.arm, len(order)), cell.repeat)

    for _, cells in groupby(sorted(summary.cells, key=place), key=load):
        yield tuple(cells)


def _group(summary: Summary, cells: tuple[CellSummary, ...]) -> tuple[Row, ...]:
    repeated = any(cell.repeat > 0 for cell in summary.cells)
    best = {path: _best(measure, cells) for path, measure in MEASURES.items()}
    return tuple(
        Row(
            cell=cell,
            load=load_text(cell),
            name=f"{cell.arm} #{cell.repeat + 1}" if repeated else cell.arm,
            values={path: _value(measure, cell, best[path]) for path, measure in MEASURES.items()},
        )
        for cell in cells
    )


def _value(measure: Measure, cell: CellSummary, best: str | None) -> Value:
    value = measure.read(cell)
    is_best = best is not None and _competes(cell) and value is not None and number(value) == best
    return Value(value, measure.is_thin(cell) and value is not None, is_best)


def _best(measure: Measure, cells: tuple[CellSummary, ...]) -> str | None:
    """Return the best value as it is written: two that read alike share the mark."""
    rivals = {cell.arm for cell in cells if _competes(cell) and measure.read(cell) is not None}
    values = [value for cell in cells if _competes(cell) and (value := measure.read(cell)) is not None]
    if measure.better is None or len(rivals) < 2:
        return None
    return number(min(values) if measure.better == "lower" else max(values))


def _competes(cell: CellSummary) -> bool:
    """A cell that the client limited says nothing about the arm."""
    return cell.client_verdict != "client_limited"
