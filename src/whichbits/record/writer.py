"""Writes a run folder while it happens: a kill at any moment leaves a run that can be read and resumed.

runs/2026-11-29T1404-NAME/
  run.json                the manifest, replaced whole at every change
  requests/0007.parquet   the requests of one finished cell, until the run ends
  requests/0007.0.arrows  those of a worker in the cell in flight, as they end
  requests.parquet        all requests, once the run has ended
  scrapes/ARM-REPLICA.jsonl   raw /metrics texts around each cell, one JSON line each
  scrapes/ARM-REPLICA.during.jsonl.gz   those during cells, which the watch writes by itself
  telemetry/0007.jsonl    samples of the GPUs in one cell, which the meter writes, until the run ends
  telemetry.parquet       all of them, once it has
  profiles/ARM-LOAD.json  a profiled window, its traces beside it
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Self

from whichbits.record.manifest import read_manifest, with_ended, write_manifest
from whichbits.record.parts import adopt_parts, salvage
from whichbits.record.row_groups import merge_shards
from whichbits.record.schema import ArmRecord, Cell, Manifest, RequestRecord, SearchRecord
from whichbits.record.scrapes import Scrape, append_scrape, drop_torn_lines
from whichbits.record.shards import relabel_shard, sharded_cells, write_shard
from whichbits.record.telemetry import merge_telemetry


class RunWriter:
    """The one writer of a run folder; ``manifest`` is always what run.json says."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Take over a folder; use ``create`` or ``reopen``."""
        self.folder = folder
        self.manifest = manifest
        self._store(manifest)

    @classmethod
    def create(cls, parent: Path, manifest: Manifest) -> Self:
        """Start a run in a fresh folder of ``parent``, named after its minute and its study."""
        return cls(_fresh_folder(parent, manifest), manifest)

    @classmethod
    def reopen(cls, folder: Path) -> Self:
        """Go on with a run that was interrupted or killed; finished cells stay as they are.

        A cell that was in flight at a kill becomes an interrupted one of the requests that had ended.


        Raises:
            BadInput: the folder is not a run, is damaged, or is newer than this release.
        """
        manifest = read_manifest(folder)
        salvage(folder, with_ended(manifest, sharded_cells(folder).values()).cells)
        manifest = with_ended(manifest, sharded_cells(folder).values())
        drop_torn_lines(folder)
        return cls(folder, replace(manifest, interrupted=False))

    def arm(self, record: ArmRecord) -> None:
        """Add an arm, or replace what is known of it."""
        self._store(replace(self.manifest, arms=self.manifest.arms | {record.arm: record}))

    def cell(self, cell: Cell, records: Sequence[RequestRecord]) -> None:
        """Keep a cell that has ended, with its requests."""
        write_shard(self.folder, cell, records)
        self._store(with_ended(self.manifest, [cell]))

    def adopt(self, cell: Cell, parts: Sequence[Path]) -> None:
        """Keep a cell that has ended, with the requests that its workers wrote."""
        adopt_parts(self.folder, cell, parts)
        self._store(with_ended(self.manifest, [cell]))

    def plan(self, cells: Sequence[Cell], search: SearchRecord) -> None:
        """Add cells that a search decided, and how far it is."""
        self._store(replace(with_ended(self.manifest, cells), search=search))

    def search(self, search: SearchRecord) -> None:
        """Keep how far a search is."""
        self._store(replace(self.manifest, search=search))

    def remark(self, number: int, note: str) -> None:
        """Add a note to a cell that has ended."""
        (cell,) = (cell for cell in self.manifest.cells if cell.cell == number)
        noted = replace(cell, notes=(*cell.notes, note))
        relabel_shard(self.folder, noted)
        self._store(with_ended(self.manifest, [noted]))

    def scrape(self, scrape: Scrape) -> None:
        """Keep a raw /metrics text."""
        append_scrape(self.folder, scrape)

    def note(self, text: str) -> None:
        """Add a remark on the whole run."""
        self._store(replace(self.manifest, notes=(*self.manifest.notes, text)))

    def finish(self, *, interrupted: bool = False) -> Path:
        """End the run: merge its shards, say whether it was cut short, and return its folder."""
        merge_shards(self.folder)
        merge_telemetry(self.folder)
        self._store(replace(self.manifest, interrupted=interrupted))
        return self.folder

    def _store(self, manifest: Manifest) -> None:
        write_manifest(self.folder, manifest)
        self.manifest = manifest


def _fresh_folder(parent: Path, manifest: Manifest) -> Path:
    stem = f"{datetime.fromisoformat(manifest.created):%Y-%m-%dT%H%M}-{manifest.name}"
    parent.mkdir(parents=True, exist_ok=True)
    for attempt in count(1):
        folder = parent / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        break
    return folder
