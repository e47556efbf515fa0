"""Limits for CI: read from a line, and failed only beyond doubt."""

from dataclasses import replace
from typing import Any

import pytest

from whichbits.analyze.comparison.comparison import Comparison, PairComparison, Row
from whichbits.analyze.comparison.gates import judge, read_gate
from whichbits.errors import BadInput

ROW = Row("ttft_ms.p99", 8, None, 100.0, 120.0, "worse", 1.2, 1.12, 1.3, practical=True, significant=True, paired=True)


def comparison(*rows: Row) -> Comparison:
    return Comparison(1, 0.03, (PairComparison("a", "b", {}, rows),))


def verdict(gate: str, **changed: Any) -> str:
    return judge(read_gate(gate), comparison(replace(ROW, **changed))).verdict


@pytest.mark.parametrize(
    ("text", "metric", "limit"),
    [
        ("p99_ttft +10%", "ttft_ms.p99", 1.1),
        ("  P99 TTFT   + 10 % ", "ttft_ms.p99", 1.1),
        ("median_tpot +2.5%", "tpot_ms.p50", 1.025),
        ("p50-itl +5%", "itl_ms.p50", 1.05),
        ("mean tpot +5%", "tpot_ms.mean", 1.05),
        ("e2e_ms.p99 +5%", "e2e_ms.p99", 1.05),
        ("output_throughput -5%", "output_tokens_per_s", 0.95),
        ("goodput -20%", "goodput_requests_per_s", 0.8),
    ],
)
def test_a_gate_is_a_metric_a_sign_and_a_percentage(text: str, metric: str, limit: float) -> None:
    gate = read_gate(text)

    assert gate.metric == metric
    assert gate.limit == pytest.approx(limit)


@pytest.mark.parametrize("text", ["", "p99_ttft", "p99_ttft 10%", "p99_ttft +10", "+10%", "p99_ttft +0%", "tpot -100%"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_gate(text)
    assert caught.value.code == "gate_unreadable"


@pytest.mark.parametrize("text", ["p98_ttft +10%", "ttft +10%", "p99_tpott +10%"])
def test_an_unknown_metric_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_gate(text)
    assert caught.value.code == "gate_metric_unknown"
    assert "p99_ttft" in caught.value.fix


def test_it_fails_only_if_the_whole_interval_is_beyond() -> None:
    assert verdict("p99_ttft +10%") == "failed"
    assert verdict("p99_ttft +15%") == "uncertain"
    assert verdict("p99_ttft +25%") == "uncertain"
    assert verdict("p99_ttft +30%") == "passed"


def test_a_fall_is_beyond_a_negative_limit() -> None:
    fall = {"metric": "output_tokens_per_s", "ratio": 0.8, "low": 0.75, "high": 0.86}

    assert verdict("output_throughput -10%", **fall) == "failed"
    assert verdict("output_throughput -20%", **fall) == "uncertain"
    assert verdict("output_throughput -25%", **fall) == "passed"


def test_a_gain_breaks_no_limit_on_a_loss() -> None:
    assert verdict("p99_ttft -10%") == "passed"


@pytest.mark.parametrize("changed", [{"low": None, "high": None, "significant": None}, {"significant": None}])
def test_without_interval_or_with_a_thin_tail_nothing_is_certain(changed: dict[str, Any]) -> None:
    assert verdict("p99_ttft +10%", **changed) == "uncertain"
    assert verdict("p99_ttft +90%", **changed) == "uncertain"


def test_one_bad_load_fails_it_and_is_named() -> None:
    fine = replace(ROW, concurrency=1, ratio=1.0, low=0.98, high=1.02)
    outcome = judge(read_gate("p99_ttft +10%"), comparison(fine, ROW))

    assert outcome.verdict == "failed"
    assert outcome.rows == (("a", "b", ROW),)


def test_what_was_not_compared_does_not_pass_unseen() -> None:
    fine = replace(ROW, concurrency=1, ratio=1.0, low=0.98, high=1.02)
    missed = replace(ROW, ratio=None, low=None, high=None, significant=None, refusal="b: client limited")
    outcome = judge(read_gate("p99_ttft +10%"), comparison(fine, missed))

    assert (outcome.verdict, outcome.compared, outcome.missed) == ("passed", 1, (("a", "b", missed),))
    assert (outcome.breaks(sure=False), outcome.breaks(sure=True)) == (False, True)


@pytest.mark.parametrize(
    ("gate", "breaks"),
    [
        ("p99_ttft +10%", (True, True)),
        ("p99_ttft +15%", (False, True)),
        ("p99_ttft +30%", (False, False)),
        ("p99_tpot +10%", (True, True)),
    ],
)
def test_one_rule_says_what_fails_a_build(gate: str, breaks: tuple[bool, bool]) -> None:
    outcome = judge(read_gate(gate), comparison(ROW))

    assert (outcome.breaks(sure=False), outcome.breaks(sure=True)) == breaks


def test_a_gate_that_meets_nothing_does_not_pass() -> None:
    refused = replace(ROW, ratio=None, low=None, high=None, refusal="defined differently")

    assert judge(read_gate("p99_ttft +10%"), comparison(refused)).verdict == "undecidable"
    assert judge(read_gate("p99_ttft +10%"), comparison()).verdict == "undecidable"
