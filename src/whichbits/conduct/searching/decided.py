"""The cells that a search has decided, as the run's record holds them; the next ones are numbered after them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whichbits.record.schema import Cell, SearchRecord, SearchStep
from whichbits.record.writer import RunWriter


@dataclass(frozen=True)
class Decided:
    """The steps of a search in its run folder."""

    writer: RunWriter

    @property
    def record(self) -> SearchRecord:
        """Return how far the search is."""
        return self.writer.manifest.search or SearchRecord()

    @property
    def next_block(self) -> int:
        """Return the number of the next step."""
        return max((step.block for step in self.record.steps), default=-1) + 1

    def open_step(self) -> SearchStep | None:
        """Return the step whose cells were planned in an earlier sitting, and not all measured."""
        return next((step for step in self.record.steps if step.bought is None), None)

    def add(self, wanted: Sequence[Cell], block: int, purpose: str, spent_s: float) -> tuple[Cell, ...]:
        """Plan the wanted cells in their order and number them; a block may grow. Return them as planned."""
        first = max((cell.cell for cell in self.writer.manifest.cells), default=-1) + 1
        cells = tuple(replace(cell, cell=first + at, block=block) for at, cell in enumerate(wanted))
        numbers = tuple(cell.cell for cell in cells)
        steps = {step.block: step for step in self.record.steps}
        grown = steps.get(block, SearchStep(block, (), purpose))
        steps[block] = replace(grown, cells=(*grown.cells, *numbers), bought=None)
        self.writer.plan(cells, SearchRecord(spent_s, tuple(steps.values())))
        return cells

    def conclude(self, block: int, bought: str, spent_s: float) -> None:
        """Keep what a step bought, with it and in the notes of its cells."""
        steps = tuple(replace(step, bought=bought) if step.block == block else step for step in self.record.steps)
        self.writer.search(SearchRecord(spent_s, steps))
        (step,) = (step for step in steps if step.block == block)
        done = {cell.cell for cell in self.writer.manifest.cells if cell.state == "done"}
        for number in step.cells:
            if number in done and not self._is_noted(number, step.purpose):
                self.writer.remark(number, f"{step.purpose}; it bought: {bought}")

    def end(self, reason: str, spent_s: float, enough_s: float | None = None) -> None:
        """Keep why the search is over, and what budget would have been enough if this one was not."""
        self.writer.search(replace(self.record, spent_s=spent_s, ended=reason, enough_s=enough_s))

    def spend(self, spent_s: float) -> None:
        """Keep how much time is spent."""
        self.writer.search(replace(self.record, spent_s=spent_s))

    def cells(self, step: SearchStep) -> tuple[Cell, ...]:
        """Return a step's cells as they are now."""
        return tuple(cell for cell in self.writer.manifest.cells if cell.cell in step.cells)

    def _is_noted(self, number: int, purpose: str) -> bool:
        notes = (cell.notes for cell in self.writer.manifest.cells if cell.cell == number)
        return any(note.startswith(purpose) for each in notes for note in each)

    def repeat(self, arms: Sequence[str], load: int, block: int) -> int:
        """Number the meetings of ``arms`` with a load: arms of one block send the same prompts, no arm one twice."""
        met = [cell for cell in self.writer.manifest.cells if cell.concurrency == load]
        same = [cell.repeat for cell in met if cell.block == block]
        return same[0] if same else max((cell.repeat for cell in met if cell.arm in arms), default=-1) + 1
