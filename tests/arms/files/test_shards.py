"""Checkpoints in several files."""

import json
from pathlib import Path

import numpy as np

from tests.arms.models import read_safetensors
from whichbits.arms.files.shards import Shards, Wanted
from whichbits.checkpoint.safetensors import read_tensors


def test_tensors_are_spread_over_files_that_an_index_names(tmp_path: Path) -> None:
    wanted = [Wanted(f"t{number}", "F32", (10, 4)) for number in range(5)]
    with Shards(tmp_path, wanted, shard_bytes=400) as shards:
        for number, each in enumerate(wanted):
            shards.write_rows(each.name, 3, np.full((7, 4), number, np.float32))
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())

    assert sorted(set(index["weight_map"].values())) == [f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3)]
    assert index["metadata"] == {"total_size": 800}
    assert sorted(read_tensors(tmp_path)) == [each.name for each in wanted]
    assert read_safetensors(tmp_path)["t3"].tolist() == [[0] * 4] * 3 + [[3] * 4] * 7


def test_columns_are_written_where_they_belong(tmp_path: Path) -> None:
    with Shards(tmp_path, [Wanted("t", "I32", (3, 5))]) as shards:
        shards.write_columns("t", 1, np.array([[1, 2], [3, 4], [5, 6]], np.int32))

    assert read_safetensors(tmp_path)["t"].tolist() == [[0, 1, 2, 0, 0], [0, 3, 4, 0, 0], [0, 5, 6, 0, 0]]


def test_numbers_start_where_they_can_be_read_in_place(tmp_path: Path) -> None:
    wanted = [Wanted("bytes", "I8", (3,)), Wanted("wide", "I64", (2,)), Wanted("half", "BF16", (5,))]
    with Shards(tmp_path, wanted) as shards:
        starts = {name: tensor.at for name, tensor in shards.tensors.items()}

    assert starts["wide"] % 8 == 0
    assert starts["half"] % 2 == 0
