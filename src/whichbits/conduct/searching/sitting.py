"""One sitting of a search: what earlier ones left, what is measured, what time is spent, and who is lost."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from whichbits.analyze.curves.load_curves import load_unit
from whichbits.conduct.events import Decision
from whichbits.conduct.order import Visit, sweep_of
from whichbits.conduct.searching.choice import BUDGET_SPENT, Situation, Wanted
from whichbits.conduct.searching.decided import Decided
from whichbits.conduct.searching.measured import Measured
from whichbits.conduct.searching.paces import Paces
from whichbits.conduct.searching.standing import Known, bought, standing
from whichbits.conduct.stage import Stage
from whichbits.record.schema import Cell
from whichbits.study.search import budget_words


@dataclass
class Sitting:
    """All that decides is in the run's record, so a search that was cut short goes on.

    Time spent counts from the first sitting on; a sitting that was killed counts what its finished cells took.
    """

    stage: Stage
    clock: Callable[[], float] = time.monotonic
    lost: set[str] = field(default_factory=set)
    """Arms whose servers failed: until somebody goes on with the run, they meet no load."""

    def __post_init__(self) -> None:
        """Take up the record."""
        self.decided = Decided(self.stage.writer)
        self.measured = Measured(self.stage.writer, self.stage.study.slo)
        self.paces = Paces(self.stage.study, self.stage.writer)
        self._told_of_starts = False
        self._before_s = max(self.decided.record.spent_s, self.paces.measured_seconds())
        self._began_s = self.clock()

    @property
    def spent_s(self) -> float:
        """Return the machine time that the search has cost, over all sittings."""
        return self._before_s + self.clock() - self._began_s

    @property
    def left_s(self) -> float:
        """Return what is left of the budget."""
        return self.stage.study.budget - self.spent_s

    @property
    def spent_beside_cells_s(self) -> float:
        """Return what of it no finished cell took: server starts and warm-up, mostly."""
        return max(0.0, self.spent_s - self.paces.measured_seconds())

    def plan(self, wanted: Sequence[Cell], block: int, purpose: str) -> tuple[Cell, ...]:
        """Put cells into the record before they are measured, and tell whoever listens."""
        cells = self.decided.add(wanted, block, purpose, self.spent_s)
        loads = ", ".join(f"{load:g}" for load in dict.fromkeys(c.request_rate or c.concurrency or 0 for c in cells))
        arms = ", ".join(dict.fromkeys(cell.arm for cell in cells))
        text = f"next: {arms} at {loads}: {purpose}; {max(0.0, self.left_s):.0f} s of the budget left"
        self.stage.listen(Decision(text, cells))
        return cells

    def left_over(self) -> Iterator[tuple[int, tuple[Cell, ...]]]:
        """Yield the step that an earlier sitting planned and did not finish, with its cells that are not done."""
        step = self.decided.open_step()
        if step is not None:
            cells = self.decided.cells(step)
            yield step.block, tuple(replace(cell, state="planned", notes=()) for cell in cells if cell.state != "done")

    def conclude(self, block: int, cells: Sequence[Cell], before: Mapping[str, Known]) -> None:
        """Keep what a step bought since ``before``; arms that did not finish their cells are lost."""
        self.lose(cells)
        self._tell_of_starts()
        gained = bought(before, self.standing())
        self.decided.conclude(block, gained, self.spent_s)
        self.stage.listen(Decision(gained))

    def lose(self, cells: Sequence[Cell]) -> None:
        """Give up the arms of cells that were measured, but not to their end."""
        states = {cell.cell: cell.state for cell in self.stage.writer.manifest.cells}
        self.lost |= {cell.arm for cell in cells if states.get(cell.cell) != "done"}

    def end(self, reason: str, wanting_s: float | None = None) -> None:
        """Keep why the search is over; if for its budget, also the one that ``wanting_s`` more make."""
        enough_s = self.spent_s + wanting_s if wanting_s and reason == BUDGET_SPENT else None
        self.decided.end(reason, self.spent_s, enough_s)
        spent_s, starts_s = self.spent_s, self.spent_beside_cells_s
        more = "" if enough_s is None else f"; it would have gone on with `budget: {budget_words(enough_s)}` or more"
        self.stage.listen(
            Decision(
                f"the search ends: {reason}, after {spent_s:.0f} s, {starts_s:.0f} of them in starts and warm-up{more}"
            )
        )

    def _tell_of_starts(self) -> None:
        """Say once, after the first step, what is left for cells: starts are part of the budget."""
        if not self._told_of_starts:
            self._told_of_starts = True
            took, left = self.spent_beside_cells_s, max(0.0, self.left_s)
            budget = self.stage.study.budget
            self.stage.listen(
                Decision(f"starts and warm-up took {took:.0f} s of the budget of {budget:.0f} s; {left:.0f} s are left")
            )

    def standing(self) -> Mapping[str, Known]:
        """Return what is known of each question."""
        return standing(self.situation())

    def situation(self) -> Situation:
        """Return what is known now."""
        study, cells = self.stage.study, self.measured.cells()
        return Situation(
            arms=tuple(arm for arm in study.arms if arm not in self.lost),
            sweep=sweep_of(study),
            cells=cells,
            resampled=self.measured.resampled(),
            wanted=Wanted(study.search_metrics, study.slo is not None, study.precision),
            seconds=self.paces.cell,
            start_seconds=(lambda _: 0.0) if study.arms_together else self.paces.start,
            seconds_left=self.left_s,
            unit=load_unit(cells),
        )

    def alone(
        self, arm: str, cells: Sequence[Cell], more: Callable[[], tuple[Cell, ...]] | None = None
    ) -> Iterator[Visit]:
        """Yield the visit of one arm, or one for each cell under ``cache: restart``; learn what its start took."""
        restarts = self.stage.study.cache == "restart"
        for part in [(cell,) for cell in cells] if restarts else [tuple(cells)]:
            began_s, known = self.clock(), self.paces.measured_seconds()
            yield Visit(part, more=None if restarts else more)
            self.paces.visited(arm, self.clock() - began_s - (self.paces.measured_seconds() - known))
