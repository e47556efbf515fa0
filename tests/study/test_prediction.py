"""Predictions are read in all their forms, and refused with a suggestion."""

import math

import pytest

from whichbits.errors import BadInput
from whichbits.study.prediction import Crosses, Less, Names, Quantity, Within, parse_prediction
from whichbits.study.read import parse_study

NAMES = Names(("fp16", "w8a8", "w4a16"), ("c1", "c10", "c100", "10/s cap 32"))
STUDY = """
name: three
arms:
  fp16: {weight_format: fp16, model: m}
  w4a16: {weight_format: w4a16, model: m}
traffic: {kind: random}
loads: [1, 10]
predictions:
  - w4a16.tpot_median < fp16.tpot_median at load 1
  - fp16.tpot_medain at load 1 in 50..60 ms
"""


def tpot(arm: str, load: str, factor: float = 1.0) -> Quantity:
    return Quantity(arm, "tpot_ms.p50", load, factor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w4a16.tpot_median < w8a8.tpot_median at load 1", Less(tpot("w4a16", "c1"), tpot("w8a8", "c1"))),
        ("w4a16.tpot_median > w8a8.tpot_median at load c100", Less(tpot("w8a8", "c100"), tpot("w4a16", "c100"))),
        (
            "fp16.tpot_median at load 10 < 1.1 * fp16.tpot_median at load 1",
            Less(tpot("fp16", "c10"), tpot("fp16", "c1", 1.1)),
        ),
        (
            "7 x fp16.output_throughput at load 1 < fp16.output_throughput at load 10",
            Less(Quantity("fp16", "output_tokens_per_s", "c1", 7.0), Quantity("fp16", "output_tokens_per_s", "c10")),
        ),
        ("fp16.tpot_median at load 1 in 50..60 ms", Within(tpot("fp16", "c1"), 50, 60)),
        ("fp16.tpot_median at load 1 < 60 ms", Within(tpot("fp16", "c1"), 0, 60)),
        ("fp16.tpot_median at load 1 > 60", Within(tpot("fp16", "c1"), 60, math.inf)),
        (
            "fp16.prefix_hit_rate at load 10/s cap 32 in 0.2..0.4",
            Within(Quantity("fp16", "prefix_hit_rate", "10/s cap 32"), 0.2, 0.4),
        ),
        ("w4a16/w8a8 tpot_median crosses in 10..100", Crosses(("w4a16", "w8a8"), "tpot_ms.p50", 10, 100)),
        ("w4a16 / fp16 ttft_p99 does not cross", Crosses(("w4a16", "fp16"), "ttft_ms.p99", None, None)),
    ],
)
def test_a_prediction_is_read(text: str, expected: object) -> None:
    assert parse_prediction(text, NAMES) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w4a61.tpot_median < w8a8.tpot_median at load 1", "no arm 'w4a61'; did you mean 'w4a16'?"),
        ("w4a16.tpot_medain < w8a8.tpot_median at load 1", "no metric 'tpot_medain'; did you mean 'tpot_median'?"),
        ("w4a16.tpot_median < w8a8.tpot_median at load 7", "no load 'c7'"),
        ("w4a16.tpot_median < w8a8.tpot_median", "needs 'at load L'"),
        ("fp16.tpot_median at load 1 in 60..50", "ends before it begins"),
        ("w4a16 is best", "none of the forms"),
        ("gptq/w8a8 tpot_median crosses in 1..2", "no arm 'gptq'; known here: fp16, w8a8, w4a16"),
    ],
)
def test_a_wrong_prediction_is_refused_with_a_suggestion(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        parse_prediction(text, NAMES)


def test_a_study_names_the_line_of_a_wrong_prediction() -> None:
    with pytest.raises(BadInput, match=r"line 10: predictions\.1: there is no metric 'tpot_medain'; did you mean"):
        parse_study(STUDY, "the study")

    mended = parse_study(STUDY.replace("medain", "median"), "the study")
    assert mended.predictions[1] == "fp16.tpot_median at load 1 in 50..60 ms"


def test_a_study_with_wrong_arms_complains_of_these_alone() -> None:
    with pytest.raises(BadInput) as caught:
        parse_study(STUDY.replace("weight_format: fp16", "weight_format: fp61"), "the study")

    assert "predictions" not in caught.value.what
