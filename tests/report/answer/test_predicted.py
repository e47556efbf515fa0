"""A prediction says that it is one, by which constants, and how far off such were."""

import re
from dataclasses import replace

import pytest

from tests.report.make_summary import make_manifest, make_summary
from whichbits.analyze.summary import Recommendation, Summary
from whichbits.analyze.summary.verdicts import ScoredPrediction
from whichbits.report.answer.lead import checks
from whichbits.report.answer.predicted import banner, interval_rows
from whichbits.report.answer.validity import scope_text
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text

TABLES = "AIConfigurator 0.11 tables, inference-sim trained constants; no table for kernel.machete"


def predicted(gpu: str = "H100 SXM", rests_on: str = TABLES) -> Summary:
    summary = make_summary(failed=None)
    facts = {"device_name": gpu, "rests_on": rests_on}
    cells = tuple(
        replace(cell, client_verdict=None, intervals={"tpot_ms.p50": (1.0, 9.0)} if cell.repeat == 0 else {})
        for cell in summary.cells
    )
    arms = {name: replace(arm, facts={**arm.facts, **facts}) for name, arm in summary.arms.items()}
    return replace(summary, source="predicted", arms=arms, cells=cells)


def told(summary: Summary) -> str:
    return "\n".join(check.text for check in checks(summary))


def test_no_check_of_a_prediction_speaks_of_requests_a_client_or_repeats() -> None:
    said = told(predicted())

    assert not any(check.good for check in checks(predicted()))
    assert "a model's numbers" in said
    assert "requests failed" not in said
    assert "whether the client" not in said
    assert "repeats differ" not in said


def test_how_far_off_is_told_of_gpus_that_were_measured_and_unknown_of_others() -> None:
    assert "how far off it is on H100 SXM is not known" in told(predicted())
    assert "on L4, runs up to 100 concurrent requests came out 3% off in TPOT and 26% in TTFT" in told(predicted("L4"))


@pytest.mark.parametrize(
    ("gpu", "rests_on", "said"),
    [
        ("H200", TABLES, "on H200, runs up to 64 concurrent requests came out 3% off in TPOT and 14% in TTFT (medians"),
        (
            "H200",
            f"calibration h200-vllm-0.25, {TABLES}",
            "came out 1% off in TPOT and 12% in TTFT with this calibration, which was fitted to others (medians",
        ),
        (
            "A100 80GB SXM",
            f"calibration a100-vllm-0.11, {TABLES}",
            "came out 8% off in TPOT and 9% in TTFT with this calibration, which was fitted to them (medians",
        ),
        ("H200", f"calibrated, {TABLES}", "came out 3% off in TPOT and 14% in TTFT without a calibration (medians"),
    ],
    ids=["released", "shipped", "fitted to them", "own"],
)
def test_how_far_off_is_told_of_the_constants_that_were_used(gpu: str, rests_on: str, said: str) -> None:
    assert said in told(predicted(gpu, rests_on))


@pytest.mark.parametrize(
    ("rests_on", "said"),
    [
        (TABLES, "no calibration for this GPU and engine"),
        (f"calibration h200-vllm-0.25, {TABLES}", "calibration h200-vllm-0.25"),
        (f"calibrated, {TABLES}", "with a calibration of your own"),
    ],
    ids=["none", "shipped", "own"],
)
def test_the_banner_names_the_gpu_and_the_calibration(rests_on: str, said: str) -> None:
    text_ = banner(predicted(rests_on=rests_on))

    assert text_.startswith("Predicted, not measured: no request was sent. Played on H100 SXM with ")
    assert text_.endswith(f"; {said}.")


def test_loads_are_predicted_at_and_never_measured_at() -> None:
    assert scope_text(predicted()) == "concurrent requests, predicted at 1 to 32"
    assert scope_text(make_summary()) == "concurrent requests, measured at 1 to 32"


def test_an_answer_is_of_the_loads_that_were_compared_wherever_its_numbers_are_from() -> None:
    entry = Recommendation("tpot_ms.p50", (("fp16", None, None),), "", loads=(4.0, 32.0))

    for summary in (predicted(), make_summary(), replace(make_summary(), source="imported")):
        assert scope_text(replace(summary, recommendation=(entry,))) == "concurrent requests, compared at 4 to 32"


@pytest.mark.parametrize("source", ["measured", "predicted", "imported"])
def test_what_a_study_expected_stands_beside_what_its_own_numbers_are(source: str) -> None:
    scored = ScoredPrediction("tpot(fp16) < 5 at c4", "true", "4 ms")
    summary = replace(make_summary(), source=source, predictions=(scored,))

    assert f"| | expected | {source} |" in markdown(summary, make_manifest())["report.md"].decode()
    page = html(summary, make_manifest())["report.html"].decode()
    assert re.findall(r'<th scope="col" class="text">(expected|\w+ed)</th>', page) == ["expected", source]


def test_every_report_of_a_prediction_says_so_before_any_number_and_has_its_intervals() -> None:
    summary = replace(predicted(), recommendation=(Recommendation("tpot_ms.p50", (("fp16", None, None),), ""),))

    page = text(summary, make_manifest())["report.txt"].decode()
    report = markdown(summary, make_manifest())["report.md"].decode()

    assert page.splitlines()[1].startswith("Predicted, not measured: no request was sent.")
    assert report.index("**Predicted, not measured") < report.index("## The answer")
    value = interval_rows(summary)[0][3]
    assert value.endswith(" (1.00 to 9.00)")
    assert value in page
    assert value in report
    assert "measured at" not in page + report


@pytest.mark.parametrize(
    ("rests_on", "constants"),
    [
        ("AccelMark, calibration h200-vllm-0.25", "AccelMark, calibration h200-vllm-0.25"),
        ("calibration h200-vllm-0.25, AccelMark", "AccelMark, calibration h200-vllm-0.25"),
        ("calibrated, AccelMark", "AccelMark, with a calibration of your own"),
        ("AccelMark", "AccelMark, no calibration for this GPU and engine"),
    ],
)
def test_a_calibration_is_named_once_among_the_constants(rests_on: str, constants: str) -> None:
    assert f"constants: {constants}" in told(predicted("H200", rests_on)).split("\n")
