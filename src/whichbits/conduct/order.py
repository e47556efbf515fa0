"""In which order the cells run, so that order does not decide."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from whichbits.conduct.searching.search import coarse_loads
from whichbits.record.schema import Cell
from whichbits.study.model import Load, Study
from whichbits.study.search import AutoLoads


@dataclass(frozen=True)
class Visit:
    """One start of servers and the cells that they then serve, in order."""

    cells: tuple[Cell, ...]
    together: tuple[str, ...] = ()
    """Arms that are up though ``cells`` may not name them: what comes next may."""
    more: Callable[[], tuple[Cell, ...]] | None = None
    """Called when ``cells`` are measured, and again after those that it gave; none end the visit."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Return the arms that are up during the visit, in the order in which they are needed."""
        return self.together or tuple(dict.fromkeys(cell.arm for cell in self.cells))


def visits(study: Study) -> tuple[Visit, ...]:
    """Return all visits of a study, its cells numbered as they run.

    Arms that are up one after the other run forwards in even repeats, backwards in odd ones (AB, BA, ...). Arms that
    are up together meet each load next to each other, and turn round with every load and every repeat; three and more
    also move up a place after each two turns, so that each comes at each place (a Latin square and its mirror). Either
    way a drift of the machine that is linear in time weighs equally on every arm. Under the cache policy ``restart``
    each cell gets a server of its own. Of a study that finds its loads or repeats itself, this is the first sweep.
    """
    blocks = _together(study) if study.arms_together else _in_turn(study)
    return tuple(Visit(cells) for cells in _numbered(blocks))


def pending(planned: tuple[Visit, ...], finished: set[int]) -> tuple[Visit, ...]:
    """Return what is left of ``planned`` when the cells in ``finished`` are done."""
    left = (Visit(tuple(c for c in visit.cells if c.cell not in finished)) for visit in planned)
    return tuple(visit for visit in left if visit.cells)


def _in_turn(study: Study) -> Iterator[list[Cell]]:
    for repeat in range(_repeats(study)):
        for arm in _there_and_back(tuple(study.arms), repeat):
            cells = [_cell(arm, load, repeat) for load in _loads(study)]
            yield from [[cell] for cell in cells] if study.cache == "restart" else [cells]


def _together(study: Study) -> Iterator[list[Cell]]:
    yield [cell for repeat in range(_repeats(study)) for cell in _next_to_each_other(study, repeat)]


def _next_to_each_other(study: Study, repeat: int) -> list[Cell]:
    return [
        _cell(arm, load, repeat)
        for position, load in enumerate(_loads(study))
        for arm in turned(tuple(study.arms), repeat + position)
    ]


def cells_of_repeat(study: Study, repeat: int) -> list[Cell]:
    """Return the cells of one repeat of all loads, in order and not numbered."""
    if study.arms_together:
        return _next_to_each_other(study, repeat)
    arms = _there_and_back(tuple(study.arms), repeat)
    return [_cell(arm, load, repeat) for arm in arms for load in _loads(study)]


def sweep_of(study: Study) -> tuple[int, ...]:
    """Return the loads of the first sweep, as concurrencies."""
    return tuple(load.concurrency for load in _loads(study) if load.concurrency is not None)


def turned(arms: Sequence[str], turn: int) -> list[str]:
    """Return arms in the order of a turn: forwards and backwards, moved up a place after each two turns.

    Over 2 n turns each of n >= 3 arms is twice at each place, and each pair is as often in one order as in the other.
    """
    moved = (turn // 2) % len(arms) if len(arms) > 2 else 0
    return list(_there_and_back((*arms[moved:], *arms[:moved]), turn))


def _there_and_back(arms: Sequence[str], turn: int) -> Sequence[str]:
    return arms if turn % 2 == 0 else arms[::-1]


def _repeats(study: Study) -> int:
    return 1 if study.repeats == "auto" else study.repeats


def _loads(study: Study) -> tuple[Load, ...]:
    if not isinstance(study.loads, AutoLoads):
        return study.loads
    asked = study.loads.auto
    return tuple(Load(concurrency=load) for load in coarse_loads(asked.lowest, asked.highest))


def _cell(arm: str, load: Load, repeat: int) -> Cell:
    return Cell(0, arm, load.concurrency, load.request_rate, repeat)


def _numbered(blocks: Iterator[list[Cell]]) -> Iterator[tuple[Cell, ...]]:
    number = 0
    for block in blocks:
        yield tuple(replace(cell, cell=number + position) for position, cell in enumerate(block))
        number += len(block)
