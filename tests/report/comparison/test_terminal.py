"""A comparison reads on 80 columns, and as Markdown, with what was refused and why."""

from pathlib import Path

import pytest

from tests.analyze.make_side import bench, side
from whichbits.analyze.comparison.comparison import Comparison, compare
from whichbits.analyze.comparison.gates import judge, read_gate
from whichbits.report.comparison.markdown import comparison_markdown
from whichbits.report.comparison.terminal import comparison_text
from whichbits.report.comparison.wording import percent


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    baseline = side(tmp_path, bench(lambda _: 0.010, model_id="acme/bf16"), "baseline")
    slower = bench(lambda _: 0.012, model_id="acme/w4a16|x", backend="openai-chat", vllm_version="0.33.0")
    old = bench(lambda _: 0.012, model_id="acme/w4a16|x", backend="openai-chat", vllm_version="0.25.1")
    return compare([(baseline, side(tmp_path, slower, "slower")), (baseline, side(tmp_path, old, "old_chat"))])


def test_every_line_fits_80_columns(comparison: Comparison) -> None:
    page = comparison_text(comparison, [judge(read_gate("p99_ttft +10%"), comparison)])

    assert max(map(len, page.splitlines())) <= 80


def test_rows_say_how_much_and_how_sure(comparison: Comparison) -> None:
    lines = [" ".join(line.split()) for line in comparison_text(comparison).splitlines()]

    assert "slower against baseline" in lines
    assert "model acme/bf16 -> acme/w4a16|x" in lines
    assert "Median TPOT c4 10.0 12.0 +20.0 % +13.5 to +26.9 % WORSE" in lines
    assert "Median TTFT c4 50.0 50.0 +0.0 % -5.4 to +5.7 % unclear" in lines
    assert "paired by request; 1 repeat; equal within 3 %; intervals hold 95 %" in lines


def test_refusals_stand_below_with_their_reason(comparison: Comparison) -> None:
    page = " ".join(comparison_text(comparison).split())

    assert "Not compared defined differently:" in page
    assert "median TTFT at c4; p90 TTFT at c4; p99 TTFT at c4" in page


def test_gates_name_what_broke_them(comparison: Comparison) -> None:
    gates = [judge(read_gate(text), comparison) for text in ("median_tpot +10%", "median_ttft +10%")]
    lines = [" ".join(line.split()) for line in comparison_text(comparison, gates).splitlines()]

    assert "median_tpot +10% FAILED slower at c4: +20.0 % (+13.5 to +26.9 %)" in lines
    assert "median_ttft +10% passed" in lines


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
