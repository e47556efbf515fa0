"""``loads: auto``: a coarse sweep, then the cells that narrow the answer most, one step after the other."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from whichbits.conduct.order import Visit, turned
from whichbits.conduct.searching.choice import BUDGET_SPENT, SWEEP, Choice, choose, refine, wanting_seconds
from whichbits.conduct.searching.sitting import Sitting
from whichbits.record.schema import Cell

MOST_LOADS = 4
"""Loads that one visit of an arm meets after the sweep, at most: more would be chosen blind."""


@dataclass
class LoadSearch:
    """Arms that are up together meet one load a step. Of others, a start serves the sweep, and then several loads."""

    sitting: Sitting

    def visits(self) -> Iterator[Visit]:
        """Yield visits until the answer is narrow enough or the budget is spent."""
        if self.sitting.stage.study.arms_together:
            steps = self._steps_together()
            first = next(steps, ())
            if first:
                yield Visit(first, tuple(self.sitting.stage.study.arms), lambda: next(steps, ()))
        else:
            yield from self._in_turn()

    def _steps_together(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the cells of each step; what follows is decided when they are measured."""
        sitting = self.sitting
        for block, cells in sitting.left_over():
            before = sitting.standing()
            if cells:
                yield cells
            sitting.conclude(block, cells, before)
        while (choice := choose(sitting.situation())).load is not None:
            before, block = sitting.standing(), sitting.decided.next_block
            cells = self._plan(turned(choice.arms, block), [choice.load], block, choice.purpose)
            yield cells
            sitting.conclude(block, cells, before)
        sitting.end(choice.purpose, wanting_seconds(sitting.situation()))

    def _in_turn(self) -> Iterator[Visit]:
        sitting = self.sitting
        for block, cells in sitting.left_over():
            yield from self._step(block, cells)
        while (choice := choose(sitting.situation())).load is not None:
            block = sitting.decided.next_block
            if choice.purpose == SWEEP and choice.load not in sitting.situation().tried(*choice.arms):
                visited = yield from self._sweep(choice)
                if not visited:
                    choice = Choice((), None, BUDGET_SPENT)
                    break
            else:
                loads = [choice.load or 1] if choice.purpose == SWEEP else self._batch(choice)
                yield from self._step(block, self._plan(turned(choice.arms, block), loads, block, choice.purpose))
        sitting.end(choice.purpose, wanting_seconds(sitting.situation()))

    def _step(self, block: int, cells: Sequence[Cell]) -> Iterator[Visit]:
        before = self.sitting.standing()
        for arm in dict.fromkeys(cell.arm for cell in cells):
            yield from self.sitting.alone(arm, [cell for cell in cells if cell.arm == arm])
        self.sitting.conclude(block, cells, before)

    def _sweep(self, choice: Choice) -> Generator[Visit, None, bool]:
        """Yield a visit of each arm that goes up the sweep until the arm is over-saturated; return whether any was.

        All of them are one block: each arm's part of the sweep is one start.
        """
        sitting, before = self.sitting, self.sitting.standing()
        cells: list[Cell] = []
        for arm in choice.arms:

            def more(arm: str = arm) -> tuple[Cell, ...]:
                sitting.lose(cells)
                cells.extend(planned := self._next_of_sweep(arm))
                return planned

            while first := more():
                yield from sitting.alone(arm, first, more)
        if cells:
            sitting.conclude(0, cells, before)
        return bool(cells)

    def _next_of_sweep(self, arm: str) -> tuple[Cell, ...]:
        """Return the arm's next cell of the sweep; none if it bought only waiting beyond where others are."""
        known = self.sitting.situation()
        load = next((each for each in known.sweep if each not in known.tried(arm)), None)
        furthest = max(known.tried(*(other for other in known.arms if other != arm)), default=0)
        if arm in self.sitting.lost or load is None or (arm in known.saturated and load > furthest):
            return ()
        behind = [other for other in known.arms if load not in known.tried(other)]
        if known.takes(behind, load) > known.seconds_left:
            return ()
        return self._plan([arm], [load], 0, SWEEP)

    def _batch(self, choice: Choice) -> list[int]:
        """Return the loads that one start of these arms' servers serves: until cells take as long as the starts."""
        known, loads = self.sitting.situation(), [choice.load or 1]
        starts_s = sum(known.start_seconds(arm) for arm in choice.arms)
        while len(loads) < MOST_LOADS and self._cells_s(choice.arms, loads) < starts_s:
            left_s = known.seconds_left - starts_s - self._cells_s(choice.arms, loads)
            up = replace(
                known, arms=choice.arms, chosen=frozenset(loads), start_seconds=lambda _: 0.0, seconds_left=left_s
            )
            more = refine(up).load
            if more is None or more in loads:
                break
            loads.append(more)
        return sorted(loads)

    def _cells_s(self, arms: Sequence[str], loads: Sequence[int]) -> float:
        return sum(self.sitting.paces.cell(arm, load) for arm in arms for load in loads)

    def _plan(self, arms: Sequence[str], loads: Sequence[int], block: int, purpose: str) -> tuple[Cell, ...]:
        repeats = {load: self.sitting.decided.repeat(arms, load, block) for load in loads}
        wanted = [Cell(0, arm, load, None, repeats[load]) for arm in arms for load in loads]
        if self.sitting.stage.study.arms_together:
            wanted = [Cell(0, arm, load, None, repeats[load]) for load in loads for arm in arms]
        return self.sitting.plan(wanted, block, purpose)
