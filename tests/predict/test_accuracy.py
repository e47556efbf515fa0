"""What reports say of the predictor's errors is what it computes, and what docs/predict.md says."""

from pathlib import Path

import pytest

from benchmarks import shipped_calibrations
from whichbits.predict.accuracy import Accuracy, accuracies, accuracy_on

PAGE = (Path(__file__).parents[2] / "docs/predict.md").read_text(encoding="utf-8")
FIRST = ("rows", "fitted to", "cells", "TPOT before", "after", "tokens/s before", "after", "TTFT before", "after")


def rows_of_the_page() -> dict[str, list[str]]:
    """The cells of each row of the table of calibrations, by the first."""
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]
    start = told.index(list(FIRST))
    return {row[0]: row for row in told[start + 2 :] if len(row) == len(FIRST)}


@pytest.mark.parametrize("known", accuracies(), ids=lambda known: f"{known.gpu}, {known.calibration}")
def test_the_page_has_the_same_errors_in_the_same_row(known: Accuracy) -> None:
    row = rows_of_the_page()[known.rows]
    after = known.calibration is not None

    assert [row[3 + after], row[7 + after]] == [f"{known.tpot:.1%}", f"{known.ttft:.1%}"]
    assert (row[1] == "**yes**") >= known.fitted


def test_they_are_what_the_predictor_computes_today() -> None:
    """Else: ``benchmarks/shipped_calibrations.py --write-errors``, and its table for the page."""
    made = tuple(shipped_calibrations.accuracies())

    assert [(each.gpu, each.calibration, each.rows, each.fitted, each.at_most) for each in made] == [
        (each.gpu, each.calibration, each.rows, each.fitted, each.at_most) for each in accuracies()
    ]
    for now, told in zip(made, accuracies(), strict=True):
        assert (now.tpot, now.ttft) == pytest.approx((told.tpot, told.ttft), abs=0.0006)


def test_a_calibration_that_nobody_scored_is_as_far_off_as_none() -> None:
    assert accuracy_on("H200", "h200-vllm-9.9") == accuracy_on("H200", None)
    assert accuracy_on("H200", None) != accuracy_on("H200", "h200-vllm-0.25")
    assert accuracy_on("H100 SXM", None) is None
