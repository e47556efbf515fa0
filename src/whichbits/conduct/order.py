"""In which order the cells run, so that order does not decide."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from whichbits.record.schema import Cell
from whichbits.study.model import Load, Study


@dataclass(frozen=True)
class Visit:
    """One start of servers and the cells that they then serve, in order."""

    cells: tuple[Cell, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """Return the arms that are up during the visit, in the order in which they are needed."""
        return tuple(dict.fromkeys(cell.arm for cell in self.cells))


def visits(study: Study) -> tuple[Visit, ...]:
    """Return all visits of a study, its cells numbered as they run.

    Arms that are up one after the other run forwards in even repeats, backwards in odd ones (AB, BA, ...). Arms that
    are up together meet each load next to each other, and turn round with every load and every repeat. Either way a
    drift of the machine that is linear in time weighs equally on every arm. Under the cache policy ``restart`` each
    cell gets a server of its own.
    """
    blocks = _together(study) if study.arms_together else _in_turn(study)
    return tuple(Visit(cells) for cells in _numbered(blocks))


def pending(planned: tuple[Visit, ...], finished: set[int]) -> tuple[Visit, ...]:
    """Return what is left of ``planned`` when the cells in ``finished`` are done."""
    left = (Visit(tuple(c for c in visit.cells if c.cell not in finished)) for visit in planned)
    return tuple(visit for visit in left if visit.cells)


def _in_turn(study: Study) -> Iterator[list[Cell]]:
    for repeat in range(study.repeats):
        for arm in _there_and_back(study, repeat):
            cells = [_cell(arm, load, repeat) for load in study.loads]
            yield from [[cell] for cell in cells] if study.cache == "restart" else [cells]


def _together(study: Study) -> Iterator[list[Cell]]:
    yield [
        _cell(arm, load, repeat)
        for repeat in range(study.repeats)
        for position, load in enumerate(study.loads)
        for arm in _there_and_back(study, repeat + position)
    ]


def _there_and_back(study: Study, turn: int) -> Sequence[str]:
    return list(study.arms) if turn % 2 == 0 else list(reversed(study.arms))


def _cell(arm: str, load: Load, repeat: int) -> Cell:
    return Cell(0, arm, load.concurrency, load.request_rate, repeat)


def _numbered(blocks: Iterator[list[Cell]]) -> Iterator[tuple[Cell, ...]]:
    number = 0
    for block in blocks:
        yield tuple(replace(cell, cell=number + position) for position, cell in enumerate(block))
        number += len(block)
