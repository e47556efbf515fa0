"""Publish a run in ``results``: summary, report with pictures, requests and profiles, without the machine's paths.

    whichbits report runs/2026-11-29T2144-qwen2.5-7b-chat-h200
    python studies/h200/publish.py runs/2026-11-29T2144-qwen2.5-7b-chat-h200 studies/h200/results/qwen2.5-7b-chat

Times of chunks become whole microseconds (``chunk_us``): of every chunk if that fits into 5 MB, else of each answer's
first and last (``first_chunk_us``, ``last_chunk_us``, ``chunks``). All other columns stay what they were.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

LARGEST = 5_000_000
"""Bytes of a published file."""
_BEFORE_PYTHON = re.compile(r"(?:/[\w.-]+)+/(?=python3? )")
_BEFORE_RUNS = re.compile(r"(?:/[\w.-]+)+/(?=runs/)")


def publish(run: Path, folder: Path) -> None:
    """Write ``folder`` from a run folder whose report has been made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(without_machine((run / "report.md").read_text()))
    summary = json.dumps(_six_digits(json.loads((run / "summary.json").read_text())), separators=(",", ":"))
    (folder / "summary.json").write_text(without_machine(summary) + "\n")
    shutil.copytree(run / "figures", folder / "figures", dirs_exist_ok=True)
    for profile in sorted((run / "profiles").glob("*.json")):
        shutil.copy(profile, folder)
    write_requests(pq.read_table(run / "requests.parquet"), folder / "requests.parquet")


def without_machine(text: str) -> str:
    """Return the text without the folders of the machine on which it was made."""
    return _BEFORE_RUNS.sub("./", _BEFORE_PYTHON.sub("", text))


def write_requests(requests: pa.Table, path: Path, largest: int = LARGEST) -> None:
    """Write one row a request, with the time of each chunk if the file stays below ``largest`` bytes."""
    chunks = _microseconds(requests["chunk_ns"].combine_chunks())
    place = requests.schema.get_field_index("chunk_ns")
    _write(requests.set_column(place, "chunk_us", chunks), path)
    if path.stat().st_size > largest:
        _write(_first_and_last(requests, chunks), path)


def _microseconds(chunks: pa.ListArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(chunks.offsets, pc.divide(chunks.values, 1000), mask=chunks.is_null())


def _first_and_last(requests: pa.Table, chunks: pa.ListArray) -> pa.Table:
    times = [each.as_py() or [None] for each in chunks]
    return (
        requests.drop_columns(["chunk_ns", "chunk_tokens"])
        .append_column("first_chunk_us", pa.array([each[0] for each in times], pa.int64()))
        .append_column("last_chunk_us", pa.array([each[-1] for each in times], pa.int64()))
        .append_column("chunks", pc.list_value_length(chunks))
    )


def _write(table: pa.Table, path: Path) -> None:
    by_bytes = {"chunk_us.list.element": "BYTE_STREAM_SPLIT"} if "chunk_us" in table.column_names else None
    dictionaries = [name for name in table.column_names if not name.startswith("chunk_")]
    plain = table.replace_schema_metadata(None)  # which says that it is a run's own file
    pq.write_table(
        plain, path, compression="zstd", compression_level=19, use_dictionary=dictionaries, column_encoding=by_bytes
    )


def _six_digits(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {key: _six_digits(each) for key, each in value.items()}
        case list():
            return [_six_digits(each) for each in value]
        case _:
            return value


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]))
