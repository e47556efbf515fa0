"""Predictions against numbers whose outcome is known."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analyze.make_cell import summaries
from tests.analyze.make_observed import cell
from tests.record.make_run import make_run
from whichbits.analyze.answer.predictions import Measured, scored_predictions
from whichbits.analyze.crossings.crossover import crossovers
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import CellSummary, Distribution
from whichbits.analyze.summary.verdicts import ScoredPrediction
from whichbits.errors import BadInput
from whichbits.record.run import Run

CELLS = summaries({"fp16": {1: 57.0, 10: 60.7, 100: 97.7}, "w4a16": {1: 27.8, 10: 30.0, 100: 110.0}})


def scored(text: str, cells: list[CellSummary] | None = None) -> ScoredPrediction:
    chosen = CELLS if cells is None else cells
    measured = Measured(chosen, crossovers(chosen, ("fp16", "w4a16")))
    (found,) = scored_predictions({"predictions": [text]}, measured)
    return found


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("w4a16.tpot_median < fp16.tpot_median at load 1", "true"),
        ("w4a16.tpot_median > fp16.tpot_median at load 1", "false"),
        ("w4a16.tpot_median > fp16.tpot_median at load 100", "true"),
        ("2 * w4a16.tpot_median < fp16.tpot_median at load 1", "undecided"),
        ("fp16.tpot_median at load 10 < 1.1 * fp16.tpot_median at load 1", "true"),
        ("fp16.tpot_median at load 10 < 1.05 * fp16.tpot_median at load 1", "false"),
        ("fp16.tpot_median at load 1 in 50..60 ms", "true"),
        ("fp16.tpot_median at load 1 in 60..70 ms", "false"),
        ("w4a16/fp16 tpot_median crosses in 10..100", "true"),
        ("w4a16/fp16 tpot_median crosses in 2..5", "false"),
        ("w4a16/fp16 tpot_median crosses in 50..60", "undecided"),
        ("w4a16/fp16 tpot_median does not cross", "false"),
    ],
)
def test_a_prediction_is_true_false_or_undecided(text: str, verdict: str) -> None:
    found = scored(text)

    assert (found.text, found.verdict) == (text, verdict)
    assert found.measured


def test_a_comparison_gives_the_ratio_with_its_interval_and_both_numbers() -> None:
    found = scored("w4a16.tpot_median < fp16.tpot_median at load 1")

    assert found.value == pytest.approx(27.8 / 57.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 27.8 / 57.0 < found.high < 1
    assert "w4a16.tpot_median at c1: 27.8; fp16.tpot_median at c1: 57.0; ratio 0.49" in found.measured


def test_a_greater_is_scored_as_the_less_of_the_other_side() -> None:
    up, down = (
        scored("w4a16.tpot_median < fp16.tpot_median at load 1"),
        scored("fp16.tpot_median > w4a16.tpot_median at load 1"),
    )

    assert (up.verdict, up.value, up.low, up.high) == (down.verdict, down.value, down.low, down.high)


@pytest.mark.parametrize(
    ("interval", "verdict"), [((52, 58), "true"), ((49, 58), "undecided"), ((40, 49), "false"), ((61, 70), "false")]
)
def test_an_interval_over_a_bound_leaves_a_range_undecided(interval: tuple[float, float], verdict: str) -> None:
    middle = (interval[0] * interval[1]) ** 0.5
    known = cell(
        "fp16", 1, tpot_ms=Distribution(99, middle, middle, middle, middle), intervals={"tpot_ms.p50": interval}
    )

    assert scored("fp16.tpot_median at load 1 in 50..60 ms", [known]).verdict == verdict


def test_repeats_that_differ_widen_the_interval() -> None:
    times = [Distribution(99, value, value, value, value) for value in (50.0, 60.0)]
    repeats = [cell("fp16", 1, repeat=number, tpot_ms=each) for number, each in enumerate(times)]

    found = scored("fp16.tpot_median at load 1 in 40..70 ms", repeats)

    assert found.value == pytest.approx((50 * 60) ** 0.5)
    assert found.verdict == "undecided"


@pytest.mark.parametrize(
    "changed",
    [{"tpot_ms": Distribution(0, None, None, None, None)}, {"client_verdict": "client_limited"}, {"state": "skipped"}],
    ids=["no value", "client limited", "skipped"],
)
def test_what_is_not_known_or_not_usable_has_no_verdict(changed: dict[str, object]) -> None:
    found = scored("fp16.tpot_median at load 1 in 50..60 ms", [cell("fp16", 1, **changed)])

    assert (found.verdict, found.value) == (None, None)
    assert "not known" in found.measured


def test_a_metric_that_arms_are_not_compared_by_has_no_verdict() -> None:
    assert scored("w4a16/fp16 itl_mean does not cross").verdict is None


def test_predictions_edited_into_a_run_are_refused() -> None:
    with pytest.raises(BadInput) as caught:
        scored_predictions({"predictions": ["fp61.tpot_median at load 1 in 1..2"]}, Measured(CELLS, ()))

    assert caught.value.code == "run_broken"
    assert "did you mean 'fp16'?" in caught.value.what


def test_a_study_without_predictions_has_none() -> None:
    assert scored_predictions({}, Measured(CELLS, ())) == ()
    assert scored_predictions({"predictions": []}, Measured([replace(CELLS[0], arm="x")], ())) == ()


def test_a_run_scores_what_its_study_predicted(tmp_path: Path) -> None:
    """Its median TPOT crosses at load 16, by construction."""
    folder = make_run(tmp_path)
    manifest = json.loads((folder / "run.json").read_text())
    manifest["study"]["predictions"] = [
        "w4a16.tpot_median < bf16.tpot_median at load 1",
        "bf16/w4a16 tpot_median crosses in 20..30",
    ]
    (folder / "run.json").write_text(json.dumps(manifest))

    summary = summarize(Run.load(folder))

    assert [each.verdict for each in summary.predictions] == ["true", "false"]
    assert summary.predictions[0].value == pytest.approx(0.5, rel=1e-4)
    assert summary.answer is not None
    assert summary.answer.regimes[0].arm == "w4a16"
