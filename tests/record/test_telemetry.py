"""Samples survive a kill, a resumed run and the end of the run."""

import json
from pathlib import Path

import pytest

from whichbits.errors import BadInput
from whichbits.record.telemetry import FILE_NAME, merge_telemetry, read_telemetry, samples_path


def write(folder: Path, cell: int, *times: int, torn: str = "") -> None:
    lines = [json.dumps({"cell": cell, "time_ns": time, "gpu": 0, "uuid": f"GPU-{cell}"}) + "\n" for time in times]
    samples_path(folder, cell).write_text("".join(lines) + torn)


def rows(folder: Path) -> list[tuple[int, int]]:
    return [(row["cell"], row["time_ns"]) for row in read_telemetry(folder).to_pylist()]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, 0, 1, 2, torn='{"cell": 0, "time')

    assert rows(tmp_path) == [(0, 1), (0, 2)]


def test_merged_samples_read_the_same_and_leave_one_file(tmp_path: Path) -> None:
    write(tmp_path, 0, 1)
    write(tmp_path, 1, 2)
    before = read_telemetry(tmp_path).to_pylist()
    merge_telemetry(tmp_path)

    assert read_telemetry(tmp_path).to_pylist() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_cell_that_runs_again_replaces_its_samples(tmp_path: Path) -> None:
    write(tmp_path, 0, 1)
    write(tmp_path, 1, 2)
    merge_telemetry(tmp_path)
    write(tmp_path, 1, 7)
    assert rows(tmp_path) == [(0, 1), (1, 7)]
    merge_telemetry(tmp_path)

    assert rows(tmp_path) == [(0, 1), (1, 7)]


def test_a_run_without_samples_has_none_and_gets_no_file(tmp_path: Path) -> None:
    merge_telemetry(tmp_path)
    assert rows(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"PAR1 not")

    with pytest.raises(BadInput) as caught:
        read_telemetry(tmp_path)
    assert caught.value.code == "run_broken"
