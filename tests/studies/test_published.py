"""What is published of the H200: complete, small, without the machine, and its requests give its summary."""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.studies.scripts import STUDIES, script

RESULTS = STUDIES / "h200" / "results"
PUBLISHED = sorted(path for path in RESULTS.iterdir() if path.is_dir())
MACHINE = re.compile(r"/(?:tmp|opt|work|home|root|usr|var|mnt|data)/|\b(?!127\.0\.0\.1)\d{1,3}(?:\.\d{1,3}){3}:\d")


def summary(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return read


def ids(folder: Path) -> str:
    return folder.name


@pytest.mark.parametrize("folder", PUBLISHED, ids=ids)
def test_a_result_is_complete_and_small_and_tells_nothing_of_the_machine(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]

    assert {"report.md", "summary.json", "requests.parquet"} <= {path.name for path in files}
    assert max(path.stat().st_size for path in files) < 5_000_000
    assert not [path.name for path in files if path.suffix != ".parquet" and MACHINE.search(path.read_text())]
    assert set(re.findall(r"\((figures/[\w.-]+)\)", (folder / "report.md").read_text())) == {
        f"figures/{path.name}" for path in (folder / "figures").iterdir()
    }


def test_the_table_of_results_names_each_and_the_study_that_makes_it_again() -> None:
    rows = re.findall(r"^\| \[([\w.-]+)\]\(\1/report\.md\) \|.*\[`([\w.-]+)`\]\(\.\./\2\)", _index(), re.MULTILINE)

    assert sorted(name for name, _ in rows) == [folder.name for folder in PUBLISHED]
    assert all((STUDIES / "h200" / study).is_file() for _, study in rows)


@pytest.mark.parametrize("folder", PUBLISHED, ids=ids)
def test_the_table_counts_its_cells(folder: Path) -> None:
    cells = summary(folder)["cells"]
    done = sum(cell["state"] == "done" for cell in cells)

    assert f"| {done} of {len(cells)} |" in next(
        line for line in _index().splitlines() if line.startswith(f"| [{folder.name}]")
    )


@pytest.mark.parametrize("folder", PUBLISHED, ids=ids)
def test_requests_give_the_summary(folder: Path) -> None:
    """By the formulas of docs/metrics.md in numpy, to the microsecond that was kept."""
    requests = pq.read_table(folder / "requests.parquet")
    for cell in summary(folder)["cells"]:
        if cell["state"] != "done":
            continue
        rows = requests.filter(pc.equal(requests["cell"], cell["cell"]))
        first, last = _first_and_last(rows)
        due, tokens = _column(rows, "scheduled_ns") / 1e3, _column(rows, "output_tokens")
        seconds = (_column(rows, "finished_ns").max() - _column(rows, "sent_ns").min()) / 1e9

        assert cell["failed"] == 0
        for name, sample in (
            ("ttft_ms", first - due),
            ("e2e_ms", last - due),
            ("tpot_ms", ((last - first) / (tokens - 1))[last > first]),
        ):
            expected = np.percentile(sample / 1e3, [50, 90, 99])
            assert [cell[name][key] for key in ("p50", "p90", "p99")] == pytest.approx(list(expected), rel=1e-4)
        assert cell["output_tokens_per_s"] == pytest.approx(tokens.sum() / seconds, rel=1e-5)


def test_gaps_are_told_by_how_many_decode_and_those_with_a_prefill_are_left_out() -> None:
    """Two answers: alone from 0 to 3, then both; the gap in which the second begins is left out."""
    batch, gap = script("steps_by_batch").decode_gaps([np.array([0, 3, 7, 12]), np.array([5, 12])])

    assert sorted(zip(batch.tolist(), gap.tolist(), strict=True)) == [(1, 3), (2, 5), (2, 7)]


def test_steps_by_batch_without_a_file_says_how_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["steps_by_batch.py"])

    with pytest.raises(SystemExit, match=r"usage: .* REQUESTS\.parquet"):
        runpy.run_path(str(STUDIES / "h200" / "steps_by_batch.py"), run_name="__main__")


def _index() -> str:
    return (RESULTS / "README.md").read_text()


def _column(rows: pa.Table, name: str) -> Any:
    return rows[name].to_numpy().astype(np.float64)


def _first_and_last(rows: pa.Table) -> tuple[Any, Any]:
    if "first_chunk_us" in rows.column_names:
        return _column(rows, "first_chunk_us"), _column(rows, "last_chunk_us")
    chunks: Any = rows["chunk_us"].combine_chunks()
    offsets, times = chunks.offsets.to_numpy(), chunks.values.to_numpy()
    return times[offsets[:-1]].astype(np.float64), times[offsets[1:] - 1].astype(np.float64)
