"""The requests of a cell in flight: a file for each worker, written as they end, readable after a kill.

A part is an Arrow stream, since a Parquet file without its end is nothing and a stream without its end is all that came
before. When the cell is over its parts become one shard, a slice in memory at a time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BufferedWriter, RawIOBase
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichbits.record.atomic import replacing
from whichbits.record.columns import CELL_COLUMNS, RECORD_COLUMNS, SCHEMA, records_of
from whichbits.record.schema import Cell, RequestRecord
from whichbits.record.shards import CELL_KEY, FOLDER, STORAGE, cell_path

CHUNKS_A_BATCH = 4000
"""Chunks that wait in memory before they are written: some 50 KB on disk, and a millisecond of work."""

ROWS_A_SLICE = 2000
"""Requests that a merge holds at once."""


def _plain(field: "pa.Field[Any]") -> "pa.Field[Any]":
    """Return the column without its dictionary: the names in a stream's dictionary would have to be known first."""
    return pa.field(field.name, pa.string()) if pa.types.is_dictionary(field.type) else field


PART_SCHEMA: pa.Schema = pa.schema([_plain(SCHEMA.field(name)) for name in RECORD_COLUMNS])


def part_path(folder: Path, cell: int, worker: int) -> Path:
    """Return where a worker of a run writes its part of a cell."""
    return folder / FOLDER / f"{cell:04d}.{worker}.arrows"


def parts_left(folder: Path) -> dict[int, list[Path]]:
    """Return the parts that lie in a run's folder, by cell: those of a cell in flight, or of one that was killed."""
    found: dict[int, list[Path]] = {}
    for path in sorted((folder / FOLDER).glob("*.arrows")):
        if named := re.fullmatch(r"(\d+)\.\d+", path.stem):
            found.setdefault(int(named[1]), []).append(path)
    return found


class PartWriter:
    """Appends requests to a part; what was flushed outlives this process."""

    def __init__(self, file: Path | RawIOBase) -> None:
        """Begin the file anew, or one that somebody else keeps; the writer closes either."""
        self._file: BufferedWriter | RawIOBase = begun(file) if isinstance(file, Path) else file
        self._stream = pa.ipc.new_stream(self._file, PART_SCHEMA)
        self._waiting: list[RequestRecord] = []
        self._chunks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def keep(self, records: Sequence[RequestRecord]) -> None:
        """Take requests; they are written as soon as enough wait."""
        for record in records:
            self._waiting.append(record)
            self._chunks += 1 + len(record.chunk_ns)
            if self._chunks >= CHUNKS_A_BATCH:
                self.flush()

    def flush(self) -> None:
        """Hand all that waits to the system."""
        if self._waiting:
            self._stream.write_batch(_batch(self._waiting))
            self._file.flush()
        self._waiting, self._chunks = [], 0

    def close(self) -> None:
        """Write the rest and end the stream."""
        self.flush()
        self._stream.close()
        self._file.close()


def begun(path: Path) -> BufferedWriter:
    """Begin a part's file anew, in a folder that may not be there yet."""
    path.parent.mkdir(exist_ok=True)
    return path.open("wb")


def read_part(path: Path) -> list[pa.RecordBatch]:
    """Return what a part holds, up to where it is torn; its pages stay on disk until they are looked at."""
    batches: list[pa.RecordBatch] = []
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
            batches.extend(stream)
    except (pa.ArrowInvalid, OSError):
        # The end of a stream whose writer was killed, or an empty file; `extend` has kept what came before.
        return batches
    return batches


def records_in(paths: Sequence[Path]) -> list[RequestRecord]:
    """Return the requests of parts in the order of their indices: for cells that fit into memory."""
    batches = [batch for path in paths for batch in read_part(path)]
    return sorted(records_of(pa.Table.from_batches(batches, PART_SCHEMA)), key=lambda record: record.index)


def adopt_parts(folder: Path, cell: Cell, paths: Sequence[Path]) -> None:
    """Make one shard of a cell's parts, in the order of the requests' indices, and remove them."""
    batches = [batch for path in paths for batch in read_part(path)]
    schema = SCHEMA.with_metadata((SCHEMA.metadata or {}) | {CELL_KEY: msgspec.json.encode(cell)})
    with replacing(cell_path(folder, cell.cell)) as partial, pq.ParquetWriter(partial, schema, **STORAGE) as shard:
        for rows in _in_order(batches):
            shard.write_table(_with_cell(cell, rows).cast(schema))
    for path in paths:
        path.unlink(missing_ok=True)


def salvage(folder: Path, cells: Sequence[Cell]) -> None:
    """Make interrupted cells of what a kill left in parts; a cell that has ended by then keeps what it has."""
    known = {cell.cell: cell for cell in cells}
    for number, paths in parts_left(folder).items():
        cell = known.get(number)
        if cell is not None and cell.state in ("planned", "interrupted"):
            batches = [batch for path in paths for batch in read_part(path)]
            if sum(batch.num_rows for batch in batches):
                adopt_parts(folder, _interrupted(cell, pa.Table.from_batches(batches)), paths)
        for path in paths:
            path.unlink(missing_ok=True)


def _interrupted(cell: Cell, requests: pa.Table) -> Cell:
    """Return a cell as far as its requests tell: from the first schedule to the last end."""
    return replace(
        cell,
        state="interrupted",
        requests=requests.num_rows,
        failed=_failed(requests.column("error_code").to_pylist()),
        started_ns=pc.min(requests.column("scheduled_ns")).as_py(),
        finished_ns=pc.max(requests.column("finished_ns")).as_py(),
        notes=(*cell.notes, "whichbits was killed during the cell: these are the requests that had ended"),
    )


def _failed(codes: Iterable[str | None]) -> int:
    """Count failures; what the user's stop cut off, before the kill, is none."""
    return sum(code not in (None, "cancelled") for code in codes)


def _batch(records: Sequence[RequestRecord]) -> pa.RecordBatch:
    columns = [pa.array([getattr(record, field.name) for record in records], type=field.type) for field in PART_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=PART_SCHEMA)


def _in_order(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of all batches by index, a slice at a time; requests end nearly as they began, so few are met."""
    if not batches:
        return
    indices = np.concatenate([batch.column("index").to_numpy() for batch in batches])
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    order = np.argsort(indices, kind="stable")
    for first, end in pairwise([*range(0, len(order), ROWS_A_SLICE), len(order)]):
        yield _gathered(batches, starts, order[first:end])


def _gathered(batches: Sequence[pa.RecordBatch], starts: Any, rows: Any) -> pa.Table:
    """Return ``rows``, numbered through all batches, in the order given."""
    of = np.searchsorted(starts, rows, side="right") - 1
    by_batch = np.argsort(of, kind="stable")
    taken = [batches[each].take(rows[of == each] - starts[each]) for each in np.unique(of)]
    return pa.Table.from_batches(taken).take(np.argsort(by_batch))


def _with_cell(cell: Cell, rows: pa.Table) -> pa.Table:
    own = [pa.array([getattr(cell, name)] * rows.num_rows, SCHEMA.field(name).type) for name in CELL_COLUMNS]
    plain = [rows.column(name).cast(SCHEMA.field(name).type) for name in RECORD_COLUMNS]
    return pa.Table.from_arrays([*own, *plain], schema=SCHEMA)
