"""The request files of a run: one Parquet shard a finished cell, merged into requests.parquet at the end.

A shard carries its ``Cell`` in its metadata, so a cell is safe from the moment its shard appears: a kill
before the manifest says so loses nothing. A shard outranks the merged file's rows of the same cell, which
covers both a kill between the merge and the removal of shards, and a cell run again after a resume.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichbits.record.arrays import integers
from whichbits.record.atomic import replacing
from whichbits.record.columns import SCHEMA, VERSION_KEY, table_of
from whichbits.record.manifest import broken, refuse_newer
from whichbits.record.regular import insist_on_file
from whichbits.record.schema import Cell, RequestRecord

MERGED = "requests.parquet"
FOLDER = "requests"

CELL_KEY = b"whichbits.cell"
STORAGE: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": [field.name for field in SCHEMA if pa.types.is_dictionary(field.type)],
    # Consecutive times differ by little: stored as differences they take a fraction of the plain eight bytes.
    "column_encoding": {"chunk_ns.list.element": "DELTA_BINARY_PACKED"},
    # Readers see by it that a disk or a copy changed a byte; else some changed bytes are other numbers.
    "write_page_checksum": True,
}


def cell_path(folder: Path, number: int) -> Path:
    """Return where the shard of a cell lies, or would."""
    return folder / FOLDER / f"{number:04d}.parquet"


def write_shard(folder: Path, cell: Cell, records: Sequence[RequestRecord]) -> None:
    """Store one finished cell, replacing an earlier shard of it."""
    table = table_of(cell, records)
    metadata = (table.schema.metadata or {}) | {CELL_KEY: msgspec.json.encode(cell)}
    path = cell_path(folder, cell.cell)
    path.parent.mkdir(exist_ok=True)
    _write(path, table.replace_schema_metadata(metadata))


def relabel_shard(folder: Path, cell: Cell) -> None:
    """Let the cell's shard say of it what ``cell`` says; nothing where its requests are merged already."""
    path = cell_path(folder, cell.cell)
    if path.exists():
        table = _read(folder, path)
        _write(
            path, table.replace_schema_metadata((table.schema.metadata or {}) | {CELL_KEY: msgspec.json.encode(cell)})
        )


def read_shard(folder: Path, number: int) -> pa.Table:
    """Return the requests of a cell that has a shard.

    Raises:
        BadInput: ``run_broken`` or ``run_too_new``.
    """
    return _read(folder, cell_path(folder, number))


def sharded_cells(folder: Path) -> dict[int, Cell]:
    """Return the cells that shards hold, by number, as they ended."""
    cells = [_cell_of(folder, path) for path in shards(folder)]
    return {cell.cell: cell for cell in cells}


def read_requests(folder: Path) -> pa.Table:
    """Return every request of the run in cell order; an empty table if no cell has finished.

    Raises:
        BadInput: ``run_broken`` or ``run_too_new``.
    """
    merged = folder / MERGED
    tables = [_without(_read(folder, merged), sharded_cells(folder))] if merged.exists() else []
    tables += [_read(folder, path) for path in shards(folder)]
    return in_cell_order(pa.concat_tables([pa.Table.from_batches([], SCHEMA), *tables]))


def shards(folder: Path) -> list[Path]:
    """Return the shards of a run's folder in the order of their cells."""
    return sorted((folder / FOLDER).glob("*.parquet"))


def _write(path: Path, table: pa.Table) -> None:
    with replacing(path) as partial:
        pq.write_table(table, partial, **STORAGE)


def _read(folder: Path, path: Path) -> pa.Table:
    try:
        insist_on_file(path)
        # Not pq.read_table: for nothing that is needed here it loads pyarrow.dataset, and with it pandas.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(use_threads=False)
        return in_our_schema(folder, table)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise broken(folder, f"{path.name} cannot be read: {error}") from error


def in_our_schema(folder: Path, table: pa.Table) -> pa.Table:
    """Return rows of a file with the columns that we know.

    Raises:
        BadInput: ``run_too_new``.
        KeyError, ValueError, ArrowException: this is no file of requests.
    """
    refuse_newer(folder, int((table.schema.metadata or {})[VERSION_KEY]))
    return table.select(SCHEMA.names).cast(SCHEMA)


def _cell_of(folder: Path, path: Path) -> Cell:
    try:
        insist_on_file(path)
        metadata: dict[bytes, Any] = pq.read_schema(path).metadata or {}
        return msgspec.json.decode(metadata[CELL_KEY], type=Cell)
    except (pa.ArrowException, OSError, KeyError, msgspec.MsgspecError, RecursionError) as error:
        raise broken(folder, f"{path.name} does not name its cell: {error}") from error


def _without(table: pa.Table, cells: dict[int, Cell]) -> pa.Table:
    """Return the rows of other cells; without a copy where there are no others."""
    return table.filter(pc.invert(pc.is_in(table["cell"], pa.array(list(cells), pa.int32())))) if cells else table


def in_cell_order(table: pa.Table) -> pa.Table:
    """Return rows sorted by cell, which within a cell keep their order."""
    numbers = integers(table["cell"])
    if (np.diff(numbers) >= 0).all():
        return table.unify_dictionaries()
    cells = np.unique(numbers)
    parts = [table.filter(pc.field("cell") == int(cell)) for cell in cells]
    return pa.concat_tables([pa.Table.from_batches([], SCHEMA), *parts]).unify_dictionaries()
