"""Costs stand in a table of their own, and nowhere without prices."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.record.make_run import make_run
from tests.report.make_summary import make_summary
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
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


USELESS: dict[str, dict[str, Any]] = {
    "the client was the limit": {"client_verdict": "client_limited"},
    "cut short": {"state": "interrupted"},
    "failed requests": {"failed": 64, "requests": 64},
}


def repeated(*each: dict[str, Any]) -> Summary:
    """One arm at one load, its repeats costing 1, 3, 5 and so on."""
    summary = make_summary(None, ("fp16",))
    cell = replace(summary.cells[0], client_verdict="client_ok", failed=0, intervals={})
    cells = (
        replace(cell, **({"repeat": place, "cost_per_million_tokens": 1.0 + 2 * place} | facts))
        for place, facts in enumerate(each)
    )
    return replace(summary, cells=tuple(cells))


def test_repeats_that_can_be_used_are_averaged() -> None:
    assert cost_rows(repeated({}, {}))[0][1] == "2.00"


@pytest.mark.parametrize("why", USELESS)
def test_repeats_that_cannot_be_used_are_no_part_of_the_mean(why: str) -> None:
    interval = {"intervals": {"cost_per_million_tokens": (0.5, 1.5)}}

    assert cost_rows(repeated({}, {}, USELESS[why]))[0][1] == "2.00"
    assert cost_rows(repeated(interval, USELESS[why]))[0][1] == "1.00 (0.50 to 1.50)"


@pytest.mark.parametrize("why", USELESS)
def test_where_no_repeat_can_be_used_it_says_why(why: str) -> None:
    assert cost_rows(repeated(USELESS[why], USELESS[why]))[0][1] == f"not known: {why}"


def test_without_prices_there_is_no_table(tmp_path: Path) -> None:
    run = priced_run(tmp_path)
    summary = summarize(run)

    assert cost_rows(summary) == []
    assert TITLE not in text(summary, run.manifest)["report.txt"].decode()
    assert TITLE not in markdown(summary, run.manifest)["report.md"].decode()
