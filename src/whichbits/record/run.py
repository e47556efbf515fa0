"""Reads a run folder, finished or killed: the manifest at once, the requests when they are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from whichbits.record.columns import records_of
from whichbits.record.manifest import broken, read_manifest, with_ended
from whichbits.record.row_groups import RowGroups
from whichbits.record.schema import Cell, Manifest, RequestRecord
from whichbits.record.scrapes import Phase, Scrape, each_scrape, read_scrapes
from whichbits.record.shards import read_requests, sharded_cells
from whichbits.record.telemetry import read_telemetry
from whichbits.record.timelines import Timelines


@dataclass(frozen=True)
class Run:
    """A run as it lies on disk; nothing here writes."""

    folder: Path
    manifest: Manifest

    @classmethod
    def load(cls, path: Path) -> Self:
        """Open a run folder.

        Raises:
            BadInput: ``run_not_found``, ``unreadable_file``, ``run_broken`` or ``run_too_new``.
        """
        return cls(path, with_ended(read_manifest(path), sharded_cells(path).values()))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells in the order of their numbers, planned ones included."""
        return self.manifest.cells

    @property
    def interrupted(self) -> bool:
        """True if the run was cut short: it says so, or it was killed while cells were still planned."""
        return self.manifest.interrupted or any(cell.state == "planned" for cell in self.cells)

    @cached_property
    def requests(self) -> pa.Table:
        """All requests in cell order, one row each, with the columns of ``record.columns.SCHEMA``.

        Raises:
            BadInput: ``run_broken`` if a file is damaged or the requests of a finished cell are missing.
        """
        table = read_requests(self.folder)
        present = set(pc.unique(table["cell"]).to_pylist())
        self._refuse_missing(*(cell.cell for cell in self.cells if cell.cell not in present))
        return table

    @cached_property
    def telemetry(self) -> pa.Table:
        """All samples of GPUs, with the columns of ``record.telemetry.SCHEMA``; no rows if none were taken.

        Raises:
            BadInput: ``run_broken`` if a file is damaged.
        """
        return read_telemetry(self.folder)

    def of_cell(self, cell: int) -> pa.Table:
        """Return the requests of one cell; no rows if it has not ended. Cells in order cost one reading of the file.

        Raises:
            BadInput: ``run_broken`` if a file is damaged or the requests of a finished cell are missing.
        """
        rows = self._row_groups.of_cell(cell)
        if not rows.num_rows:
            self._refuse_missing(cell)
        return rows

    @cached_property
    def cells_with_requests(self) -> frozenset[int]:
        """The numbers of the cells that have requests. Only one column is read, whatever their chunks take."""
        return frozenset(self._row_groups.cells)

    @cached_property
    def _row_groups(self) -> RowGroups:
        return RowGroups(self.folder)

    def records(self, cell: int) -> list[RequestRecord]:
        """Return the requests of one cell as records: handy, but slow for large cells."""
        return records_of(self.of_cell(cell))

    def timelines(self, cell: int) -> Timelines:
        """Return the requests of one cell as arrays."""
        return Timelines.of(self.of_cell(cell))

    def scrapes(self, *phases: Phase) -> list[Scrape]:
        """Return the raw /metrics texts of ``phases``, or all. Those during cells are many: see ``each_scrape``."""
        return read_scrapes(self.folder, *phases)

    def each_scrape(self, *phases: Phase) -> Iterator[Scrape]:
        """Yield the same, one in memory at a time."""
        return each_scrape(self.folder, *phases)

    def _refuse_missing(self, *without: int) -> None:
        for cell in self.cells:
            if cell.cell in without and cell.state == "done" and cell.requests:
                raise broken(self.folder, f"cell {cell.cell} is done, but its requests are missing")
