"""What is written is what is read, whenever the writer was killed."""

import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.record.make_run import MS, TWO_ARMS, arm_record, ended, failed, make_run, manifest, record
from whichbits.errors import BadInput
from whichbits.record import shards
from whichbits.record.run import Run
from whichbits.record.schema import Cell, RequestRecord
from whichbits.record.scrapes import Scrape
from whichbits.record.writer import RunWriter

CELLS = [Cell(0, "bf16", 1, None, 0), Cell(1, "w4a16", 1, 2.5, 0)]
RECORDS = [record(0), failed(record(1, 5 * MS)), record(2, 9 * MS, n=1)]

counts = st.none() | st.integers(0, 2**31 - 1)
times = st.none() | st.integers(0, 2**62)
texts = st.none() | st.text(max_size=8)
any_record = st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 100_000)), max_size=4).flatmap(
    lambda chunks: st.builds(
        RequestRecord,
        index=st.integers(0, 2**31 - 1),
        replica=texts,
        requested_output_tokens=st.integers(0, 2**31 - 1),
        prompt_tokens=counts,
        cached_tokens=counts,
        output_tokens=counts,
        scheduled_ns=st.integers(0, 2**62),
        sent_ns=times,
        first_byte_ns=times,
        finished_ns=times,
        chunk_ns=st.just(tuple(time for time, _ in chunks)),
        chunk_tokens=st.just(tuple(tokens for _, tokens in chunks)),
        finish_reason=texts,
        done_seen=st.booleans(),
        http_status=st.none() | st.integers(100, 599),
        error_code=texts,
        error=texts,
    )
)


def started(parent: Path) -> RunWriter:
    return RunWriter.create(parent, manifest(cells=CELLS))


def write_cell(writer: RunWriter, number: int, records: list[RequestRecord] = RECORDS) -> None:
    writer.cell(ended(CELLS[number], records), records)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(any_record, max_size=5))
def test_every_field_survives_the_disk(tmp_path: Path, records: list[RequestRecord]) -> None:
    writer = started(tmp_path)
    writer.cell(replace(CELLS[1], state="done", requests=len(records)), records)

    assert Run.load(writer.folder).records(1) == records
    assert Run.load(writer.finish()).records(1) == records


def test_the_manifest_survives_the_disk(tmp_path: Path) -> None:
    writer = started(tmp_path)
    writer.arm(arm_record("bf16", TWO_ARMS["bf16"]))
    write_cell(writer, 0)
    writer.note("the fan was loud")

    assert Run.load(writer.folder).manifest == writer.manifest
    assert writer.manifest.cells == (ended(CELLS[0], RECORDS), CELLS[1])


@pytest.mark.parametrize(
    ("named", "read"),
    [({"w4a16": {}, "fp16": {}, "bf16": {}}, ["w4a16", "bf16"]), ({}, ["bf16", "w4a16"]), (None, ["bf16", "w4a16"])],
    ids=["as the study names them", "an arm of no study", "a study without arms"],
)
def test_arms_stand_in_the_studys_order_whichever_server_was_ready_first(
    tmp_path: Path, named: dict[str, dict[str, str]] | None, read: list[str]
) -> None:
    writer = RunWriter.create(tmp_path, replace(manifest(), study={"arms": named}))
    for name in ("bf16", "w4a16"):
        writer.arm(arm_record(name, TWO_ARMS[name]))

    assert list(Run.load(writer.folder).manifest.arms) == read


def test_two_runs_of_one_minute_get_two_folders(tmp_path: Path) -> None:
    names = [started(tmp_path).folder.name for _ in range(3)]

    assert names == [f"2026-11-29T1404-synthetic{suffix}" for suffix in ("", "-2", "-3")]


def test_a_finished_run_has_one_table_that_pandas_reads(tmp_path: Path) -> None:
    folder = make_run(tmp_path, loads=(1, 2))

    frame = pq.read_table(folder / "requests.parquet").to_pandas()

    assert not (folder / "requests").exists()
    assert list(frame["cell"]) == [0] * 4 + [1] * 8 + [2] * 4 + [3] * 8
    assert set(frame["arm"]) == {"bf16", "w4a16"}
    assert {field.name for field in fields(RequestRecord)} - {"text"} < set(frame.columns)


def kill_before_the_manifest(writer: RunWriter) -> None:
    shards.write_shard(writer.folder, ended(CELLS[1], RECORDS), RECORDS)


def kill_before_shards_are_removed(writer: RunWriter) -> None:
    write_cell(writer, 1)
    kept = writer.folder.parent / "kept"
    shutil.copytree(writer.folder / "requests", kept)
    writer.finish()
    shutil.copytree(kept, writer.folder / "requests")


def kill_amid_a_shard(writer: RunWriter) -> None:
    write_cell(writer, 1)
    (writer.folder / "requests" / "0002.parquet.partial").write_bytes(b"PAR1 half")


@pytest.mark.parametrize("kill", [kill_before_the_manifest, kill_before_shards_are_removed, kill_amid_a_shard])
def test_a_kill_loses_no_finished_cell_and_doubles_none(tmp_path: Path, kill: Callable[[RunWriter], None]) -> None:
    writer = started(tmp_path)
    write_cell(writer, 0)
    kill(writer)

    killed = Run.load(writer.folder)
    resumed = Run.load(RunWriter.reopen(writer.folder).finish())

    for run in (killed, resumed):
        assert [cell.state for cell in run.cells] == ["done", "done"]
        assert run.records(0) == RECORDS
        assert run.records(1) == RECORDS
        assert run.requests.num_rows == 2 * len(RECORDS)


def test_a_run_killed_before_its_first_cell_is_empty_not_broken(tmp_path: Path) -> None:
    run = Run.load(started(tmp_path).folder)

    assert run.requests.num_rows == 0
    assert len(run.timelines(0)) == 0
    assert run.scrapes() == []


def test_a_cell_run_again_after_a_resume_replaces_its_first_try(tmp_path: Path) -> None:
    writer = started(tmp_path)
    writer.cell(replace(ended(CELLS[0], RECORDS[:1]), state="interrupted"), RECORDS[:1])
    writer.finish(interrupted=True)
    again = RunWriter.reopen(writer.folder)
    write_cell(again, 0)

    run = Run.load(again.finish())

    assert run.records(0) == RECORDS
    assert run.cells[0].state == "done"
    assert not run.manifest.interrupted


def test_a_torn_scrape_is_left_out_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    writer = started(tmp_path)
    scrapes = [Scrape("a/b", "0", cell, "before", cell, "x_total 1\n") for cell in range(3)]
    for scrape in scrapes[:2]:
        writer.scrape(scrape)
    (file,) = (writer.folder / "scrapes").iterdir()
    file.write_bytes(file.read_bytes()[:-5])

    assert Run.load(writer.folder).scrapes() == scrapes[:1]

    RunWriter.reopen(writer.folder).scrape(scrapes[2])

    assert Run.load(writer.folder).scrapes() == [scrapes[0], scrapes[2]]


def newer_manifest(folder: Path) -> None:
    content = msgspec.json.decode((folder / "run.json").read_bytes()) | {
        "schema_version": 2,
        "cells": "moved",
    }
    (folder / "run.json").write_bytes(msgspec.json.encode(content))


def newer_table(folder: Path) -> None:
    table = pq.read_table(folder / "requests.parquet")
    pq.write_table(table.replace_schema_metadata({"whichbits.schema_version": "2"}), folder / "requests.parquet")


def no_manifest(folder: Path) -> None:
    (folder / "run.json").unlink()


def manifest_is_a_folder(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()


def torn_manifest(folder: Path) -> None:
    (folder / "run.json").write_bytes((folder / "run.json").read_bytes()[:-9])


def torn_table(folder: Path) -> None:
    (folder / "requests.parquet").write_bytes((folder / "requests.parquet").read_bytes()[:-9])


def lost_table(folder: Path) -> None:
    (folder / "requests.parquet").unlink()


def column_dropped(folder: Path) -> None:
    table = pq.read_table(folder / "requests.parquet").drop_columns(["chunk_ns"])
    pq.write_table(table, folder / "requests.parquet")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (newer_manifest, "run_too_new"),
        (newer_table, "run_too_new"),
        (no_manifest, "run_not_found"),
        (manifest_is_a_folder, "unreadable_file"),
        (torn_manifest, "run_broken"),
        (torn_table, "run_broken"),
        (lost_table, "run_broken"),
        (column_dropped, "run_broken"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, damage: Callable[[Path], None], code: str) -> None:
    folder = make_run(tmp_path, loads=(1,))
    damage(folder)

    with pytest.raises(BadInput) as refused:
        Run.load(folder).requests  # noqa: B018 - reading is lazy

    assert refused.value.code == code


def test_timelines_hold_what_the_records_hold(tmp_path: Path) -> None:
    writer = started(tmp_path)
    write_cell(writer, 0, [failed(record(0)), record(1, 3 * MS, n=2), record(2)])
    timelines = Run.load(writer.folder).timelines(0)

    assert timelines.succeeded.tolist() == [False, True, True]
    assert timelines.chunks.tolist() == [0, 2, 11]
    assert timelines.chunk_ns[:2].tolist() == [23 * MS, 33 * MS]
    assert timelines.last_chunk_ns[1:].tolist() == [33 * MS, 120 * MS]
    assert np.isnan(timelines.first_chunk_ns[0])
    assert np.isnan(timelines.output_tokens[0])


def test_fifty_thousand_requests_become_arrays_without_an_object_a_chunk(tmp_path: Path) -> None:
    writer = started(tmp_path)
    write_cell(writer, 0, [record(n=20)] * 50_000)
    run = Run.load(writer.finish())

    tracemalloc.start()
    timelines = run.timelines(0)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert timelines.chunk_ns.size == 1_000_000
    assert peak_bytes < 60e6
