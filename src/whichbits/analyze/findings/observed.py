"""What the checks look at, and the words in which they name cells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from whichbits.analyze.books import Difference
from whichbits.analyze.summary import CellSummary, Crossover, Finding, SloCapacity
from whichbits.record.schema import Manifest


@dataclass(frozen=True)
class Observed:
    """All that the checks look at."""

    manifest: Manifest
    cells: Sequence[CellSummary]
    crossovers: Sequence[Crossover] = ()
    crossovers_by_capacity: Sequence[Crossover] = ()
    differences: Mapping[int, Sequence[Difference]] = field(default_factory=dict)
    """By cell."""
    slo_capacities: Sequence[SloCapacity] = ()

    @property
    def done(self) -> list[CellSummary]:
        """The cells that ran to their end."""
        return [cell for cell in self.cells if cell.state == "done"]


Check = Callable[[Observed], Iterator[Finding]]


def load_of(cell: CellSummary) -> str:
    """Return the load as people write it: ``c16``, ``10/s``, ``10/s cap 32``."""
    if cell.request_rate is None:
        return f"c{cell.concurrency}"
    return f"{cell.request_rate:g}/s" + ("" if cell.concurrency is None else f" cap {cell.concurrency}")


def place(cell: CellSummary) -> str:
    """Name a cell by its arm, load and repeat."""
    return f"{cell.arm} at {load_of(cell)}, repeat {cell.repeat}"


def evidence(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    """Name the cells in one line, runs of numbers folded: ``cells 0 to 3, 7``."""
    numbers = sorted(cell.cell for cell in cells)
    # Within a run of successive numbers, a number less its position stays the same.
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    names = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return (f"cell{'s' if len(numbers) > 1 else ''} {', '.join(names)}",)
