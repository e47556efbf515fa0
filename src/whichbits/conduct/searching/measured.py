"""What the finished cells of a run say, read once each while the run goes on."""

from dataclasses import dataclass, field, replace

from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.cells.noise import Replicates, intervals, replicates
from whichbits.analyze.curves.cost import priced, prices
from whichbits.analyze.summary import CellSummary
from whichbits.record.row_groups import RowGroups
from whichbits.record.schema import Cell
from whichbits.record.writer import RunWriter
from whichbits.study.model import Slo


@dataclass
class Measured:
    """The finished cells of the run that ``writer`` writes."""

    writer: RunWriter
    slo: Slo | None
    _read: dict[int, tuple[CellSummary, Replicates]] = field(default_factory=dict)

    def cells(self) -> tuple[CellSummary, ...]:
        """Return every cell that ran to its end."""
        return tuple(self._of(cell)[0] for cell in self.writer.manifest.cells if cell.state == "done")

    def resampled(self) -> dict[int, Replicates]:
        """Return what each of them leaves open."""
        return {cell.cell: self._of(cell)[1] for cell in self.writer.manifest.cells if cell.state == "done"}

    def _of(self, cell: Cell) -> tuple[CellSummary, Replicates]:
        if cell.cell not in self._read:
            requests = RowGroups(self.writer.folder).of_cell(cell.cell)
            resampled = replicates(cell, requests, self.slo)
            plain = cell_summary(cell, requests, slo=self.slo)
            known = replace(plain, intervals=intervals(plain, resampled))
            self._read[cell.cell] = priced(known, prices(self.writer.manifest.study)), resampled
        return self._read[cell.cell]
