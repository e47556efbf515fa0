"""A comparison reads on 80 columns, and as Markdown, with what was refused and why."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.analyze.make_side import bench, side
from tests.record.make_run import PowerLaw, SyntheticArm, make_run
from whichbits.analyze.comparison.comparison import Comparison, compare
from whichbits.analyze.comparison.gates import judge, read_gate
from whichbits.analyze.comparison.sources import read_source
from whichbits.language.language import language
from whichbits.report.comparison.markdown import comparison_markdown
from whichbits.report.comparison.terminal import comparison_text
from whichbits.report.comparison.wording import percent


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    baseline = side(tmp_path, bench(lambda _: 0.010, model_id="acme/bf16"), "baseline")
    slower = bench(lambda _: 0.012, model_id="acme/w4a16|x", backend="openai-chat", vllm_version="0.33.0")
    old = bench(lambda _: 0.012, model_id="acme/w4a16|x", backend="openai-chat", vllm_version="0.25.1")
    return compare([(baseline, side(tmp_path, slower, "slower")), (baseline, side(tmp_path, old, "old_chat"))])


@pytest.fixture
def limited(tmp_path: Path) -> Comparison:
    arms = {name: SyntheticArm(tpot_ms=PowerLaw(at)) for name, at in (("a", 10.0), ("b", 12.0))}
    ours, theirs = read_source(str(make_run(tmp_path, arms, loads=(1, 4, 8), per_stream=100))).sides
    cells = (
        replace(cell, client_verdict="client_ok" if cell.concurrency == 4 else "client_limited")
        for cell in theirs.cells
    )
    return compare([(ours, replace(theirs, cells=tuple(cells)))])


def test_every_line_fits_80_columns(comparison: Comparison) -> None:
    page = comparison_text(comparison, [judge(read_gate("p99_ttft +10%"), comparison)])

    assert max(map(len, page.splitlines())) <= 80


def test_rows_say_how_much_and_how_sure(comparison: Comparison) -> None:
    lines = [" ".join(line.split()) for line in comparison_text(comparison).splitlines()]

    assert "slower against baseline" in lines
    assert "model acme/bf16 -> acme/w4a16|x" in lines
    assert "Median TPOT c4 10.0 12.0 +20.0 % +13.5 to +26.9 % WORSE" in lines
    assert "paired by request; 1 repeat; equal within 3 %; intervals hold 95 %" in lines


def test_what_one_repeat_leaves_open_is_said_once(comparison: Comparison) -> None:
    page = " ".join(comparison_text(comparison).split())

    assert "unclear" not in page
    assert "Within 3 %, but 1 repeat each leave at best ±5.7 %, too much to call them equal: median TTFT" in page
    assert "At least 3 repeats can." in page


def test_one_measurement_against_itself_is_said_to_be_one(tmp_path: Path) -> None:
    ours = side(tmp_path, bench(lambda _: 0.010), "ours")
    page = comparison_text(compare([(ours, replace(ours, name="again"))]))

    assert "both sides are the same requests: equal, there is nothing to compare" in page
    assert "Median" not in page


def test_where_a_gate_was_held_against_nothing_stands_beside_it(limited: Comparison) -> None:
    gates = [judge(read_gate("median_tpot +90%"), limited)]
    page = " ".join(comparison_text(limited, gates).split())

    assert "median_tpot +90% passed at 1 of 3 loads; not compared at c1, c8 (b: client limited)" in page
    assert "Not compared b: client limited: all metrics at c1, c8" in page
    in_korean = " ".join(comparison_text(limited, gates, language("ko")).split())
    assert "client limited" not in in_korean


def test_refusals_stand_below_with_their_reason(comparison: Comparison) -> None:
    page = " ".join(comparison_text(comparison).split())

    assert "Not compared defined differently:" in page
    assert "median TTFT, p90 TTFT, p99 TTFT at c4" in page


def test_gates_name_what_broke_them(comparison: Comparison) -> None:
    gates = [judge(read_gate(text), comparison) for text in ("median_tpot +10%", "median_ttft +10%")]
    lines = [" ".join(line.split()) for line in comparison_text(comparison, gates).splitlines()]

    assert any(line.startswith("median_tpot +10% FAILED slower at c4: +20.0 % (+13.5 to +26.9 %)") for line in lines)
    assert any(line.startswith("median_ttft +10% passed") for line in lines)


def test_markdown_has_tables_and_escapes_names(comparison: Comparison) -> None:
    page = comparison_markdown(comparison, [judge(read_gate("median_tpot +10%"), comparison)])

    assert page.startswith("| gate |  |  |\n| --- | --- | --- |\n| median\\_tpot +10% | FAILED |")
    assert "### old\\_chat against baseline" in page
    assert "| model | acme/bf16 | acme/w4a16\\|x |" in page
    assert "| Median TPOT | c4 | 10.0 | 12.0 | +20.0 % | +13.5 to +26.9 % | **WORSE** |" in page
    assert "**Not compared**\n\n* defined differently" in page


@pytest.mark.parametrize(("ratio", "text"), [(1.0, "+0.0 %"), (0.5, "-50.0 %"), (3.0, "+200 %"), (1.1234, "+12.3 %")])
def test_a_ratio_reads_as_a_change(ratio: float, text: str) -> None:
    assert percent(ratio) == text
