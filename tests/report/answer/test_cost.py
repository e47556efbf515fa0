"""Costs stand in a table of their own, and nowhere without prices."""

from dataclasses import replace
from pathlib import Path

from tests.record.make_run import make_run
from whichbits.analyze.summarize import summarize
from whichbits.record.manifest import read_manifest, write_manifest
from whichbits.record.run import Run
from whichbits.report.answer.cost import TITLE, cost_headings, cost_rows
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text


def priced_run(folder: Path, **price: float) -> Run:
    path = make_run(folder, loads=(1, 4))
    told = read_manifest(path)
    arms = {arm: {"price_per_hour": price.get(arm)} for arm in told.arms}
    write_manifest(path, replace(told, study=told.study | {"arms": arms}))
    return Run.load(path)


def test_a_row_a_load_and_a_column_an_arm(tmp_path: Path) -> None:
    run = priced_run(tmp_path, bf16=3.6)
    summary = summarize(run)
    rows = cost_rows(summary)

    assert cost_headings(summary) == ("load", "bf16", "w4a16")
    assert [row[0] for row in rows] == ["c1", "c4"]
    (first,) = (cell for cell in summary.cells if (cell.arm, cell.concurrency) == ("bf16", 1))
    assert rows[0][1].split()[0] == f"{1000 / (first.output_tokens_per_s or 0):.1f}"
    assert {row[2] for row in rows} == {"–"}  # noqa: RUF001 - what reports write for nothing
    assert TITLE in text(summary, run.manifest)["report.txt"].decode()
    assert TITLE in markdown(summary, run.manifest)["report.md"].decode()


def test_without_prices_there_is_no_table(tmp_path: Path) -> None:
    run = priced_run(tmp_path)
    summary = summarize(run)

    assert cost_rows(summary) == []
    assert TITLE not in text(summary, run.manifest)["report.txt"].decode()
    assert TITLE not in markdown(summary, run.manifest)["report.md"].decode()
