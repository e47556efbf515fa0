"""Cells are found in whatever row groups they lie, and each request once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.record.make_run import make_run
from whichbits.errors import BadInput
from whichbits.record import row_groups
from whichbits.record.arrays import integers
from whichbits.record.row_groups import RowGroups
from whichbits.record.run import Run


def groups_of(folder: Path) -> list[list[int]]:
    with pq.ParquetFile(folder / "requests.parquet") as file:
        tables = [file.read_row_group(at, ["cell"]) for at in range(file.num_row_groups)]
    return [sorted(set(integers(table["cell"]).tolist())) for table in tables]


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    return one.to_pylist() == other.to_pylist()


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [(10**9, [[0, 1, 2, 3, 4, 5]]), (200, [[0, 1], [2], [3, 4], [5]]), (1, [[0], [1], [2], [3], [4], [5]])],
)
def test_small_cells_share_a_group_and_no_cell_is_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks: int, expected: list[list[int]]
) -> None:
    # Loads 1, 4 and 32 with four requests a stream of 11 chunks: 44, 176 and 1408 chunks, for each of two arms.
    monkeypatch.setattr(row_groups, "CHUNKS_A_GROUP", chunks)
    folder = make_run(tmp_path)
    run = Run.load(folder)

    assert groups_of(folder) == expected
    assert RowGroups(folder).cells == [0, 1, 2, 3, 4, 5]
    for cell in (5, 0, 3, 3, 1, 4, 2):
        assert run.of_cell(cell).num_rows
        assert same_rows(run.of_cell(cell), run.requests.filter(pc.field("cell") == cell))
    assert run.of_cell(6).num_rows == 0


def test_a_file_of_one_group_is_read_as_before(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    whole = pq.read_table(folder / "requests.parquet")
    pq.write_table(whole, folder / "requests.parquet", write_statistics=False)

    assert same_rows(Run.load(folder).of_cell(4), whole.filter(pc.field("cell") == 4))


def test_a_byte_that_was_changed_is_told_or_changes_nothing(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    path, whole = folder / "requests.parquet", Run.load(folder).requests
    kept = path.read_bytes()
    footer = 8 + int.from_bytes(kept[-8:-4], "little")

    def read_with_a_change(at: int) -> pa.Table | str:
        path.write_bytes(kept[:at] + bytes([kept[at] ^ 0x10]) + kept[at + 1 :])
        try:
            return Run.load(folder).requests
        except BadInput as error:
            return error.code

    read = [read_with_a_change(at) for at in range(4, len(kept) - footer, 97)]

    told = [found for found in read if isinstance(found, str)]
    assert all(found.equals(whole) for found in read if not isinstance(found, str))
    assert set(told) == {"run_broken"}
    assert len(told) > 20
