"""requests.parquet in row groups of whole cells: written so, and read with one group in memory at a time."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichbits.record.arrays import integers
from whichbits.record.atomic import replacing
from whichbits.record.columns import SCHEMA
from whichbits.record.manifest import broken
from whichbits.record.regular import insist_on_file
from whichbits.record.shards import MERGED, STORAGE, cell_path, in_cell_order, in_our_schema, read_shard, shards

CHUNKS_A_GROUP = 500_000
"""Chunks from which on a row group is full: some 6 MB in memory. Small cells share one, a large one has its own."""


class RowGroups:
    """The requests of a run; the group of the cell asked for last stays in memory, as its neighbours come next."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read before a cell is asked for."""
        self._folder = folder
        self._held: tuple[int, pa.Table] | None = None

    @property
    def cells(self) -> list[int]:
        """The numbers of all cells that have requests, in order."""
        merged = [] if self._merged is None else integers(self._merged.read(["cell"])["cell"]).tolist()
        return sorted({*merged, *(int(path.stem) for path in shards(self._folder))})

    def of_cell(self, number: int) -> pa.Table:
        """Return the requests of a cell, none if it has not ended; its shard outranks the merged file.

        Raises:
            BadInput: ``run_broken`` or ``run_too_new``.
        """
        if cell_path(self._folder, number).exists():
            return read_shard(self._folder, number)
        for group, (first, last) in enumerate(self._ranges):
            if first <= number <= last:
                rows = _rows(self._group(group), number)
                if rows.num_rows:
                    return rows
        return pa.Table.from_batches([], SCHEMA)

    @cached_property
    def _merged(self) -> pq.ParquetFile | None:
        path = self._folder / MERGED
        try:
            insist_on_file(path)
            return pq.ParquetFile(path, page_checksum_verification=True) if path.exists() else None
        except (pa.ArrowException, OSError) as error:
            raise broken(self._folder, f"{path.name} cannot be read: {error}") from error

    @cached_property
    def _ranges(self) -> list[tuple[float, float]]:
        """The lowest and the highest cell of each row group."""
        return [] if self._merged is None else [_range(self._merged, at) for at in range(self._merged.num_row_groups)]

    def _group(self, number: int) -> pa.Table:
        if self._held is None or self._held[0] != number:
            self._held = None  # two groups at once would be twice the memory
            self._held = (number, in_cell_order(self._read(number)))
        return self._held[1]

    def _read(self, number: int) -> pa.Table:
        if self._merged is None:
            return pa.Table.from_batches([], SCHEMA)
        try:
            return in_our_schema(self._folder, self._merged.read_row_group(number, use_threads=False))
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise broken(self._folder, f"{MERGED} cannot be read: {error}") from error


def merge_shards(folder: Path) -> None:
    """Move all shards into the merged file; a kill at any point leaves each request readable once."""
    groups = RowGroups(folder)
    with replacing(folder / MERGED) as partial, pq.ParquetWriter(partial, SCHEMA, **STORAGE) as merged:
        for table in _full_groups(groups.of_cell(cell) for cell in groups.cells):
            merged.write_table(table, row_group_size=table.num_rows)
    for path in shards(folder):
        path.unlink()
    rest = cell_path(folder, 0).parent
    if rest.is_dir() and not any(rest.iterdir()):
        rest.rmdir()


def _full_groups(cells: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Put neighbours together until they have enough chunks, so that many small cells do not cost a group each."""
    waiting: list[pa.Table] = []
    chunks = 0
    for cell in cells:
        waiting.append(cell)
        chunks += pc.sum(pc.list_value_length(cell["chunk_ns"])).as_py() or 0
        if chunks >= CHUNKS_A_GROUP:
            yield _together(waiting)
            waiting, chunks = [], 0
    if any(cell.num_rows for cell in waiting):
        yield _together(waiting)


def _together(cells: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(cells).unify_dictionaries()


def _range(file: pq.ParquetFile, group: int) -> tuple[float, float]:
    told = file.metadata.row_group(group).column(SCHEMA.get_field_index("cell")).statistics
    if told is None or told.min is None or told.max is None:
        return -np.inf, np.inf  # it may hold any cell
    return told.min, told.max


def _rows(ordered: pa.Table, cell: int) -> pa.Table:
    first, end = np.searchsorted(integers(ordered["cell"]), (cell, cell + 1))
    return ordered.slice(int(first), int(end - first))
