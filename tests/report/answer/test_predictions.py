"""Predictions with their marks in all three reports; nothing where none were made."""

from dataclasses import replace

import pytest

from tests.report.make_summary import make_manifest, make_summary
from whichbits.analyze.summary import Finding, Summary
from whichbits.analyze.summary.verdicts import ScoredPrediction
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text
from whichbits.report.wording import grounds

SCORED = (
    ScoredPrediction("w4a8.tpot_median < fp16.tpot_median at load 1", "true", "ratio 0.65 (0.60 to 0.70)", 0.65),
    ScoredPrediction("fp16/w4a8 tpot_median crosses in 10..20", "false", "crosses at 5.02 (4.40 to 6.10)"),
    ScoredPrediction("fp16.tpot_median at load 1 in 20..23", "undecided", "23.0 (22.0 to 24.0)"),
    ScoredPrediction("w4a16.tpot_median at load 32 in 1..2 <b>", None, "not known"),
)


def pages(summary: Summary) -> list[str]:
    manifest = make_manifest()
    files = (text(summary, manifest), markdown(summary, manifest), html(summary, manifest))
    return [next(iter(made.values())).decode() for made in files]


@pytest.fixture(scope="module")
def scored() -> list[str]:
    return pages(replace(make_summary(), predictions=SCORED))


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["terminal", "markdown", "html"])
def test_each_prediction_stands_with_its_mark_and_numbers(scored: list[str], kind: int) -> None:
    page = scored[kind]

    section = page[page.index(">Predictions<" if kind == 2 else "Predictions") :]
    marks = [section.index(mark) for mark in ("✅", "❌")]
    assert marks == sorted(marks)
    assert "5.02 (4.40 to 6.10)" in section
    assert "<b>" not in section or kind == 0


def test_a_study_without_predictions_has_no_such_section() -> None:
    assert not any("Predictions" in page for page in pages(make_summary()))


def test_what_would_settle_a_finding_stands_last_among_its_grounds() -> None:
    finding = Finding("unresolved", "code", "text", ("cells 0 to 3",), "longer cells")

    assert grounds(finding) == ("cells 0 to 3", "Would settle it: longer cells")
    assert grounds(replace(finding, settled_by=None)) == ("cells 0 to 3",)
