"""A run is published without the machine's paths, with its times to the microsecond, in files of bounded size."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.studies.scripts import script

publish = script("publish")
CHUNKS: list[Any] = [[1_000_400, 2_000_900, 4_000_999], [5_000_000], []]


def requests() -> pa.Table:
    return pa.table(
        {
            "arm": ["fp16", "fp16", "w4a16"],
            "scheduled_ns": [7, 8, 9],
            "chunk_ns": pa.array(CHUNKS, pa.list_(pa.int64())),
            "chunk_tokens": pa.array([[1, 1, 2], [1], []], pa.list_(pa.int32())),
        }
    )


def test_times_of_all_chunks_become_whole_microseconds(tmp_path: Path) -> None:
    publish.write_requests(requests(), tmp_path / "r.parquet")
    kept = pq.read_table(tmp_path / "r.parquet")

    assert kept["chunk_us"].to_pylist() == [[1000, 2000, 4000], [5000], []]
    assert kept["chunk_tokens"].to_pylist() == [[1, 1, 2], [1], []]
    assert kept["scheduled_ns"].to_pylist() == [7, 8, 9]


def test_where_all_are_too_many_the_first_the_last_and_their_number_stay(tmp_path: Path) -> None:
    publish.write_requests(requests(), tmp_path / "r.parquet", largest=1)
    kept = pq.read_table(tmp_path / "r.parquet")

    assert kept["first_chunk_us"].to_pylist() == [1000, 5000, None]
    assert kept["last_chunk_us"].to_pylist() == [4000, 5000, None]
    assert kept["chunks"].to_pylist() == [3, 1, 0]
    assert {"chunk_us", "chunk_ns", "chunk_tokens"}.isdisjoint(kept.column_names)


@pytest.mark.parametrize(
    ("said", "published"),
    [
        ("GPUS=1 /opt/a.b/bin/python3 -m vllm --port 1", "GPUS=1 python3 -m vllm --port 1"),
        ('"dir": "/home/me/x/runs/2026-a/profiles"', '"dir": "./runs/2026-a/profiles"'),
        ("attached to http://127.0.0.1:8100/v1", "attached to http://127.0.0.1:8100/v1"),
    ],
)
def test_folders_of_the_machine_are_cut(said: str, published: str) -> None:
    assert publish.without_machine(said) == published


def test_a_run_becomes_its_report_its_pictures_its_summary_and_its_requests(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "2026-a"
    (run / "figures").mkdir(parents=True)
    (run / "profiles").mkdir()
    (run / "figures" / "tpot-p50.svg").write_text("<svg/>")
    (run / "profiles" / "fp16-c1.json").write_text("{}")
    (run / "profiles" / "fp16-c1.0.trace.json.gz").write_bytes(b"large")
    (run / "report.md").write_text("/opt/venv/bin/python3 -m vllm")
    (run / "summary.json").write_text(
        json.dumps({"cells": [{"ttft_ms": {"p50": 12.3456789, "n": 1234567, "thin": []}}]})
    )
    pq.write_table(requests(), run / "requests.parquet")
    publish.publish(run, tmp_path / "results" / "a")

    kept = tmp_path / "results" / "a"
    assert {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()} == {
        *("report.md", "summary.json", "requests.parquet", "fp16-c1.json", "figures/tpot-p50.svg"),
    }
    assert (kept / "report.md").read_text() == "python3 -m vllm"
    assert json.loads((kept / "summary.json").read_text())["cells"][0]["ttft_ms"] == {
        "p50": 12.3457,
        "n": 1234567,
        "thin": [],
    }
