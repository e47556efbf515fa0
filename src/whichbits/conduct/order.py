"""In which order the cells run, so that order does not decide."""

from dataclasses import dataclass

from whichbits.record.schema import Cell
from whichbits.study.model import Study


@dataclass(frozen=True)
class Visit:
    """One start of an arm's server and the cells that it then serves."""

    arm: str
    cells: tuple[Cell, ...]


def visits(study: Study) -> tuple[Visit, ...]:
    """Return all visits of a study: arms forwards in even repeats, backwards in odd ones (AB, BA, ...).

    A drift of the machine that is linear in time then weighs equally on every arm. Cells are numbered as they run.
    Under the cache policy ``restart`` each cell gets a server of its own.
    """
    found: list[Visit] = []
    number = 0
    for repeat in range(study.repeats):
        arms = list(study.arms)
        for arm in arms if repeat % 2 == 0 else reversed(arms):
            cells = tuple(
                Cell(number + position, arm, load.concurrency, load.request_rate, repeat)
                for position, load in enumerate(study.loads)
            )
            number += len(cells)
            found += [Visit(arm, (cell,)) for cell in cells] if study.cache == "restart" else [Visit(arm, cells)]
    return tuple(found)


def pending(planned: tuple[Visit, ...], finished: set[int]) -> tuple[Visit, ...]:
    """Return what is left of ``planned`` when the cells in ``finished`` are done."""
    left = (Visit(visit.arm, tuple(c for c in visit.cells if c.cell not in finished)) for visit in planned)
    return tuple(visit for visit in left if visit.cells)
