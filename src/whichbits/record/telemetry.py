"""GPU samples of a run: a file of JSON lines a cell while it runs, telemetry.parquet once it has ended."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichbits.record.atomic import replacing
from whichbits.record.columns import VERSION_KEY
from whichbits.record.manifest import broken
from whichbits.record.regular import insist_on_file
from whichbits.record.schema import SCHEMA_VERSION

FILE_NAME = "telemetry.parquet"
FOLDER = "telemetry"

SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("cell", pa.int32(), nullable=False),
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("gpu", pa.int32(), nullable=False),
        pa.field("uuid", pa.dictionary(pa.int32(), pa.string())),
        pa.field("power_w", pa.float64()),
        pa.field("power_limit_w", pa.float64()),
        pa.field("energy_j", pa.float64()),
        pa.field("sm_clock_mhz", pa.int32()),
        pa.field("sm_clock_max_mhz", pa.int32()),
        pa.field("memory_clock_mhz", pa.int32()),
        pa.field("temperature_c", pa.int32()),
        pa.field("memory_used_bytes", pa.int64()),
        pa.field("utilisation", pa.float64()),
        pa.field("throttle_reasons", pa.int64()),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
)


def samples_path(folder: Path, cell: int) -> Path:
    """Return the file of one cell's samples, made empty: what an earlier try at the cell left does not count."""
    path = folder / FOLDER / f"{cell:04d}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    return path


def read_telemetry(folder: Path) -> pa.Table:
    """Return all samples, none if nothing was sampled; a cell measured anew replaces its older samples.

    Raises:
        BadInput: ``run_broken`` if a file is damaged.
    """
    fresh = {int(path.stem): path for path in sorted((folder / FOLDER).glob("*.jsonl"))}
    tables = [_table(folder, path) for path in fresh.values()]
    if (folder / FILE_NAME).exists():
        older = _parquet(folder)
        tables.insert(0, older.filter(pc.invert(pc.is_in(older["cell"], pa.array(list(fresh), pa.int32())))))
    return pa.concat_tables([pa.Table.from_batches([], SCHEMA), *tables]).unify_dictionaries()


def merge_telemetry(folder: Path) -> None:
    """Put all samples into telemetry.parquet, and remove the files of single cells."""
    paths = list((folder / FOLDER).glob("*.jsonl"))
    if not paths:
        return
    table = read_telemetry(folder)
    if len(table):
        with replacing(folder / FILE_NAME) as partial:
            pq.write_table(table, partial, compression="zstd")
    for path in paths:
        path.unlink()
    (folder / FOLDER).rmdir()


def _table(folder: Path, path: Path) -> pa.Table:
    return pa.Table.from_pylist(list(_samples(folder, path)), schema=SCHEMA)


def _samples(folder: Path, path: Path) -> Iterator[dict[str, object]]:
    """Yield the samples of a file but for a last line that a kill tore."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    for line in whole.splitlines():
        try:
            yield msgspec.json.decode(line, type=dict[str, object])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise broken(folder, f"{FOLDER}/{path.name} cannot be read: {error}") from error


def _parquet(folder: Path) -> pa.Table:
    try:
        insist_on_file(folder / FILE_NAME)
        return pq.read_table(folder / FILE_NAME, schema=SCHEMA)
    except (pa.ArrowException, OSError) as error:
        raise broken(folder, f"{FILE_NAME} cannot be read: {error}") from error
