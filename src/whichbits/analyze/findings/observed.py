"""What the checks look at, and the words in which they name cells."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from whichbits.analyze.engine.books import Difference
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.quality.measures import Quality
from whichbits.analyze.summary import ArmSummary, CellSummary, Crossover, Finding, SloCapacity
from whichbits.language.phrase import joined, listed, phrase
from whichbits.record.schema import Manifest
from whichbits.study.model import load_name


@dataclass(frozen=True)
class Observed:
    """All that the checks look at."""

    manifest: Manifest
    cells: Sequence[CellSummary]
    crossovers: Sequence[Crossover] = ()
    crossovers_by_capacity: Sequence[Crossover] = ()
    differences: Mapping[int, Sequence[Difference]] = field(default_factory=dict)
    """By cell."""
    arms: Mapping[str, ArmSummary] = field(default_factory=dict)
    profiles: Sequence[Profile] = ()
    slo_capacities: Sequence[SloCapacity] = ()
    quality: Quality | None = None

    @property
    def done(self) -> list[CellSummary]:
        """The cells that ran to their end."""
        return [cell for cell in self.cells if cell.state == "done"]


Check = Callable[[Observed], Iterator[Finding]]


def load_of(cell: CellSummary | Profile) -> str:
    """Return the load as people write it."""
    return load_name(cell.concurrency, cell.request_rate)


def place(cell: CellSummary) -> str:
    """Name a cell by its arm, load and repeat; people count repeats from 1, the data from 0."""
    return phrase("{arm} at {load_of}, repeat {repeat}", arm=cell.arm, load_of=load_of(cell), repeat=cell.repeat + 1)


def evidence(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    """Name the cells in one line, runs of numbers folded: ``cells 0 to 3, 7``."""
    numbers = sorted(cell.cell for cell in cells)
    # Within a run of successive numbers, a number less its position stays the same.
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    names = [f"{run[0]}" if len(run) == 1 else phrase("{run} to {run_2}", run=run[0], run_2=run[-1]) for run in runs]
    return (phrase("cell{plural} {list}", plural="s" if len(numbers) > 1 else "", list=joined(", ", names)),)


def of_arm(observed: Observed, arm: str) -> list[CellSummary]:
    """Return an arm's finished cells, the lowest load first."""
    mine = [cell for cell in observed.done if cell.arm == arm]
    return sorted(mine, key=lambda cell: (cell.request_rate or 0.0, cell.concurrency or 0, cell.repeat))


_MOST_LOADS = 4


def places(cells: Sequence[CellSummary]) -> str:
    """Name arms and loads in one line, the lowest load first: ``fp16 and w8a8 at c1, c4``.

    Repeats stand together, and arms of equal loads.
    """
    loads: dict[str, dict[str, float]] = {}
    for cell in cells:
        loads.setdefault(cell.arm, {})[load_of(cell)] = cell.request_rate or cell.concurrency or 0.0
    arms: dict[tuple[str, ...], list[str]] = {}
    for arm, of_one in loads.items():
        arms.setdefault(tuple(sorted(of_one, key=of_one.__getitem__)), []).append(arm)
    return joined(
        "; ",
        (phrase("{names} at {list}", names=listed(names), list=_loads(alike)) for alike, names in arms.items()),
    )


def _loads(names: Sequence[str]) -> str:
    """Return loads in one line, a long row of them by its ends: evidence names its cells."""
    if len(names) <= _MOST_LOADS:
        return joined(", ", names)
    return phrase("{count} loads from {first} to {last}", count=len(names), first=names[0], last=names[-1])


def number(value: float) -> str:
    """Return about three digits: ``0.95``, ``9.87``, ``23.4``, ``1,045``."""
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{value:,.{digits}f}"


MOST_LINES = 6
"""Of evidence that repeats over cells, so that a reader does not drown; the first line still names all cells."""


def each(cells: Sequence[CellSummary], words: Callable[[CellSummary], str]) -> tuple[str, ...]:
    """Return evidence cell by cell behind a line that names them all."""
    lines = [phrase("{place}: {words}", place=place(cell), words=words(cell)) for cell in cells[:MOST_LINES]]
    left = len(cells) - MOST_LINES
    return (*evidence(cells), *lines, *([phrase("and {left} more", left=left)] if left > 0 else []))


def replicas_of(observed: Observed, arm: str) -> int:
    """Return how many servers an arm has; 1 where the record names none."""
    record = observed.manifest.arms.get(arm)
    return max(1, len(record.replicas)) if record is not None else 1


def bits(weight_format: str) -> int | None:
    """Return the width of a format's weights: 16 for ``fp16``, 4 for ``w4a16``."""
    found = re.match(r"(?:bf|fp)(\d+)$|w(\d+)a", weight_format)
    return None if found is None else int(found[1] or found[2])


def is_narrow(arm: ArmSummary) -> bool:
    """Say whether the arm's weights have fewer than 16 bits."""
    width = bits(arm.weight_format)
    return width is not None and width < 16
