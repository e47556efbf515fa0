"""A loaded run says what its folder says, in each library, and refuses what it cannot give."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import whichbits
from tests.record.make_run import TWO_ARMS, PowerLaw, SyntheticArm, make_run
from whichbits.analyze.summarize import summarize, summary_json
from whichbits.errors import BadInput
from whichbits.record.run import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arms = TWO_ARMS | {"broken": SyntheticArm(tpot_ms=PowerLaw(10.0), failed_requests=1)}
    return make_run(tmp_path_factory.mktemp("runs"), arms, loads=(1, 4))


def test_the_summary_is_computed_where_none_is_kept(folder: Path) -> None:
    assert whichbits.load_run(folder).summary == json.loads(summary_json(summarize(Run.load(folder))))


def test_a_kept_summary_is_read_as_it_is(tmp_path: Path) -> None:
    folder = make_run(tmp_path, loads=(1,))
    (folder / "summary.json").write_text('{"cells": [], "arms": {}, "mine": 1}')

    assert whichbits.load_run(str(folder)).summary["mine"] == 1


@pytest.mark.parametrize("text", ['{"cells": [], "arms": {}, "mine": 1}', "{", "[]"])
def test_a_summary_that_is_stale_or_broken_is_made_anew(tmp_path: Path, text: str) -> None:
    folder = make_run(tmp_path, loads=(1,))
    path = folder / "summary.json"
    path.write_text(text)
    if text.startswith('{"cells'):
        os.utime(path, ns=(0, 0))  # the run has gone on since

    assert len(whichbits.load_run(folder).summary["cells"]) == 2


def test_cells_have_the_numbers_of_the_summary(folder: Path) -> None:
    run = whichbits.load_run(folder)
    rows = run.cells().arrow().to_pylist()

    assert len(rows) == len(run.summary["cells"]) == 6
    for row, cell in zip(rows, run.summary["cells"], strict=True):
        assert row["arm"] == cell["arm"]
        assert row["tpot_ms_p50"] == cell["tpot_ms"]["p50"]
        assert row["ttft_ms_n"] == cell["ttft_ms"]["n"]
        assert [row["tpot_ms_p50_low"], row["tpot_ms_p50_high"]] == cell["intervals"]["tpot_ms.p50"]
        assert row["request_rate"] is None


def test_arms_have_a_row_each(folder: Path) -> None:
    arms = whichbits.load_run(folder).arms().arrow()

    assert arms["arm"].to_pylist() == ["bf16", "w4a16", "broken"]
    assert arms["weight_format"].to_pylist() == ["bf16", "w4a16", "bf16"]


def test_tokens_are_the_chunks_one_a_row(folder: Path) -> None:
    run = whichbits.load_run(folder)
    first = run.tokens().polars().filter(pl.col("cell") == 0, pl.col("index") == 1)
    (request,) = [row for row in run.run.records(0) if row.index == 1]

    assert first["time_ns"].to_list() == list(request.chunk_ns)
    assert first["chunk"].to_list() == list(range(11))
    # bf16 answers one stream with a token each 12 ms.
    assert first["gap_ms"].to_list() == [None, *[pytest.approx(12.0)] * 10]
    assert first["tokens"].to_list() == [1] * 11


def test_a_failed_request_has_no_tokens_and_breaks_no_gap(folder: Path) -> None:
    tokens = whichbits.load_run(folder).tokens().polars().filter(pl.col("arm") == "broken", pl.col("concurrency") == 1)

    assert tokens["index"].unique().sort().to_list() == [1, 2, 3]
    assert tokens.filter(pl.col("gap_ms").is_null())["index"].to_list() == [1, 2, 3]
    assert tokens["succeeded"].all()


def test_gaps_pooled_are_the_itl_of_the_summary(folder: Path) -> None:
    run = whichbits.load_run(folder)
    tokens = duckdb.from_arrow(run.tokens().arrow())
    found = tokens.query("tokens", "SELECT cell, median(gap_ms) FROM tokens WHERE succeeded GROUP BY cell")

    assert found is not None
    assert dict(found.fetchall()) == pytest.approx(
        {cell["cell"]: cell["itl_ms"]["p50"] for cell in run.summary["cells"]}
    )


def test_every_library_gets_the_same_requests(folder: Path) -> None:
    requests = whichbits.load_run(folder).requests()
    arms = requests.arrow()["arm"].to_pylist()

    assert len(requests) == len(arms) == 60
    assert requests.polars()["arm"].cast(pl.String).to_list() == arms
    assert requests.pandas()["arm"].tolist() == arms
    assert pl.DataFrame(requests).height == pa.table(requests).num_rows == 60
    assert (found := duckdb.sql("SELECT count(*) FROM requests")) is not None
    assert found.fetchall() == [(60,)]


def test_scrapes_are_chosen_by_phase(folder: Path) -> None:
    run = whichbits.load_run(folder)

    assert run.scrapes("before").arrow()["phase"].to_pylist() == ["before"] * 6
    assert len(run.scrapes()) == 12
    assert len(run.scrapes("during")) == 0


def test_a_run_without_gpus_has_an_empty_table_of_telemetry(folder: Path) -> None:
    telemetry = whichbits.load_run(folder).telemetry()

    assert (len(telemetry), "power_w" in telemetry.arrow().column_names) == (0, True)


def test_a_run_without_requests_has_empty_tables(tmp_path: Path) -> None:
    run = whichbits.load_run(make_run(tmp_path, loads=()))

    assert (len(run.requests()), len(run.tokens()), len(run.cells())) == (0, 0, 0)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_library_that_is_not_there_is_named_with_its_extra(
    folder: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BadInput) as caught:
        getattr(whichbits.load_run(folder).arms(), library)()

    assert caught.value.code == "table_library_missing"
    assert f"whichbits[{library}]" in caught.value.fix


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        whichbits.load_run(tmp_path)
    assert caught.value.code == "run_not_found"


def test_importing_whichbits_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'pyarrow', 'pydantic', 'whichbits.record'} & set(sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, whichbits; print({heavy})"], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "set()"


def test_a_run_shows_what_it_is(folder: Path) -> None:
    run = whichbits.load_run(folder)

    assert repr(run).splitlines()[0] == f"synthetic, measured 2026-11-29T14:04:31+00:00, in {folder}"
    assert "6 of 6 cells done, arms bf16, w4a16, broken; client ok in 6" in repr(run)
    assert repr(run.cells()).startswith("Table of 6 rows, ")
    assert "tpot_ms_p50 double" in repr(run.cells())


def test_in_a_notebook_names_are_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    run = whichbits.load_run(make_run(tmp_path, {hostile: SyntheticArm(tpot_ms=PowerLaw(10.0))}, loads=(1, 4)))

    for html in (run._repr_html_(), run.cells()._repr_html_(), run.requests()._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
    assert "the first 8 rows and 10 columns" in run.requests()._repr_html_()
    assert "<td>null</td>" in run.cells()._repr_html_()  # no request rate


def test_tables_join_on_their_cell_in_polars_and_pandas(folder: Path) -> None:
    run = whichbits.load_run(folder)
    cells = run.cells().polars().select("cell", "tpot_ms_p50")

    assert run.requests().polars().join(cells, on="cell")["tpot_ms_p50"].null_count() == 0
    assert run.tokens().polars().join(run.requests().polars(), on=["cell", "index"]).height == len(run.tokens())
    assert run.cells().polars().join(run.arms().polars(), on="arm").height == 6
    assert len(run.requests().pandas().merge(run.cells().pandas(), on="cell")) == len(run.requests())


def test_tables_are_there_by_name(folder: Path) -> None:
    run = whichbits.load_run(folder)

    assert run.table("cells").arrow().equals(run.cells().arrow())
    with pytest.raises(BadInput) as raised:
        run.table("rows")
    assert raised.value.code == "table_unknown"


@pytest.mark.parametrize("path", ["nowhere", "a\0b", "", 3, None], ids=repr)
def test_what_is_no_run_is_bad_input(path: Any) -> None:
    with pytest.raises(BadInput) as raised:
        whichbits.load_run(path)
    assert raised.value.code == "run_not_found"
