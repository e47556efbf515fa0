"""Requests that are written as they end: whole, torn, merged, salvaged."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.record.make_run import failed, record
from whichbits.record import parts
from whichbits.record.manifest import write_manifest
from whichbits.record.parts import PartWriter, adopt_parts, part_path, parts_left, read_part, records_in
from whichbits.record.run import Run
from whichbits.record.schema import SCHEMA_VERSION, Cell, Manifest, RequestRecord
from whichbits.record.shards import read_requests
from whichbits.record.writer import RunWriter

CELL = Cell(7, "w4a16", 4, None, 0)


def requests(count: int, *, chunks: int = 20) -> list[RequestRecord]:
    return [replace(record(n=chunks), index=index, replica="ab"[index % 2]) for index in range(count)]


def write(path: Path, records: list[RequestRecord]) -> Path:
    with PartWriter(path) as part:
        for each in records:
            part.keep([each])
    return path


def manifest(*cells: Cell) -> Manifest:
    return Manifest(SCHEMA_VERSION, "measured", "tiny", {}, "2026-11-29T14:04:00+00:00", 1, {}, {}, cells=cells)


def test_what_was_kept_is_read_back(tmp_path: Path) -> None:
    records = [*requests(300), replace(failed(record()), index=300, chunk_ns=(), chunk_tokens=(), sent_ns=None)]

    assert records_in([write(part_path(tmp_path, 7, 0), records)]) == records


def test_a_part_that_is_torn_holds_what_was_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut anywhere, a part gives a beginning of what was kept, and ever more of it."""
    monkeypatch.setattr(parts, "CHUNKS_A_BATCH", 500)
    records = requests(600)
    path = write(part_path(tmp_path, 7, 0), records)
    whole, seen = path.read_bytes(), []
    for share in (0, 0.01, 0.3, 0.7, 0.99):
        path.write_bytes(whole[: round(len(whole) * share)])
        left = records_in([path])
        assert left == records[: len(left)]
        seen.append(len(left))

    assert seen == sorted(seen)
    assert seen[0] == 0
    assert 0 < seen[2] < seen[3] < 600


def test_what_an_unfinished_writer_flushed_is_on_disk(tmp_path: Path) -> None:
    """A request of 20 chunks weighs 21, so the limit of 4,000 is passed by every 191st."""
    with PartWriter(part_path(tmp_path, 7, 0)) as part:
        part.keep(requests(500))
        flushed = sum(batch.num_rows for batch in read_part(part_path(tmp_path, 7, 0)))

    assert flushed == 2 * 191


@pytest.mark.parametrize("rows", [2000, 7])
def test_parts_become_one_shard_in_the_order_of_indices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """In slices as well, with requests that ended out of order and spread over workers."""
    monkeypatch.setattr(parts, "ROWS_A_SLICE", rows)
    monkeypatch.setattr(parts, "CHUNKS_A_BATCH", 100)
    records = requests(100)
    ended = sorted(records, key=lambda each: (each.index * 37) % 100)
    paths = [write(part_path(tmp_path, 7, worker), ended[worker::3]) for worker in range(3)]

    adopt_parts(tmp_path, CELL, paths)

    (writer,) = [Run(tmp_path, manifest(replace(CELL, state="done", requests=100)))]
    assert writer.records(7) == records
    assert parts_left(tmp_path) == {}
    assert pa.types.is_dictionary(read_requests(tmp_path).schema.field("replica").type)


def test_a_cell_without_a_request_has_an_empty_shard(tmp_path: Path) -> None:
    adopt_parts(tmp_path, CELL, [write(part_path(tmp_path, 7, 0), [])])

    assert read_requests(tmp_path).num_rows == 0


def test_a_killed_cell_is_salvaged_on_resume(tmp_path: Path) -> None:
    """Requests that had ended are an interrupted cell; what was done before stays, and nothing is left lying."""
    write_manifest(tmp_path, manifest(replace(CELL, cell=6), CELL, replace(CELL, cell=8)))
    first = requests(3)
    done = replace(CELL, cell=6, state="done", requests=3)
    adopt_parts(tmp_path, done, [write(part_path(tmp_path, 6, 0), first)])
    write(part_path(tmp_path, 6, 1), requests(1))
    killed = [*requests(9), replace(failed(record()), index=9)]
    write(part_path(tmp_path, 7, 0), killed[::2])
    write(part_path(tmp_path, 7, 1), killed[1::2])
    write(part_path(tmp_path, 8, 0), [])

    RunWriter.reopen(tmp_path)
    run = Run.load(tmp_path)

    assert [cell.state for cell in run.cells] == ["done", "interrupted", "planned"]
    assert (run.cells[1].requests, run.cells[1].failed) == (10, 1)
    assert "killed" in run.cells[1].notes[0]
    assert run.cells[1].finished_ns == max(each.finished_ns or 0 for each in killed)
    assert run.records(7) == killed
    assert run.records(6) == first
    assert parts_left(tmp_path) == {}
