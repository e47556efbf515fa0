"""Findings on answers, where they are due and where they are not."""

from dataclasses import replace

from tests.analyze.make_observed import arm as summary_of
from tests.analyze.make_observed import found, observed
from tests.analyze.quality.made import arm, distance, free, quality
from whichbits.analyze.answer.tradeoff import Candidates, with_trade_offs
from whichbits.analyze.findings import Observed
from whichbits.analyze.findings.quality import (
    answers_broken,
    answers_differ,
    answers_drift,
    answers_same,
    quality_not_told,
    reference_quantised,
)
from whichbits.analyze.quality.measures import ArmQuality, Quality

CHECKS = (answers_broken, answers_differ, answers_same, answers_drift, reference_quantised, quality_not_told)


def seen(judged: Quality | None) -> Observed:
    bare = observed([summary_of("bf16", "bf16"), summary_of("w4a16")])
    return replace(bare, quality=judged and with_trade_offs(judged, Candidates(bare.arms, (), "concurrency")))


def codes(judged: Quality | None) -> list[str]:
    return [finding.code for check in CHECKS for finding in found(check, seen(judged))]


def test_nothing_is_said_where_nothing_was_asked() -> None:
    assert codes(None) == []


def test_each_verdict_has_its_finding() -> None:
    assert codes(quality(arm("w4a16"))) == ["quality_price"]
    assert codes(quality(arm("w4a16", "same"))) == ["quality_same"]
    assert codes(quality(arm("w4a16", "broken", distance(900.0)))) == ["quality_broken"]


def test_a_broken_arm_is_named_with_its_numbers() -> None:
    (finding,) = found(answers_broken, seen(quality(arm("w4a16", "broken", distance(900.0)))))

    assert finding.text.startswith("w4a16 is broken as served: its perplexity is 7,200, that of bf16 8.00")
    assert any("20,000 tokens of 37 texts" in line for line in finding.evidence)


def test_a_gap_alone_is_said_to_be_no_divergence() -> None:
    (finding,) = found(quality_not_told, seen(quality(arm("w4a16", overall=distance(1.2, None, None)))))

    assert finding.code == "quality_gap_only"
    assert finding.text.startswith("Of w4a16 only each token's own log-probability is known")


def test_arms_that_scored_nothing_and_texts_left_out_are_named() -> None:
    silent = ArmQuality("mute", "unknown", None, notes=("no log-probabilities of prompts: HTTP 400",))
    other = replace(arm("w4a16"), unpaired=("prose/clocks",))
    told = {finding.code: finding for finding in found(quality_not_told, seen(quality(silent, other)))}

    assert set(told) == {"quality_unknown", "quality_unpaired"}
    assert "mute: no log-probabilities of prompts: HTTP 400" in told["quality_unknown"].evidence
    assert "w4a16: prose/clocks" in told["quality_unpaired"].evidence


def test_only_significant_drift_is_told() -> None:
    quiet = replace(arm("w4a16"), answers=free())
    loud = replace(arm("w4a16"), answers=free(stopped=4, stopped_p=0.001, loops=8, loops_p=0.008))

    assert found(answers_drift, seen(quality(quiet))) == []
    (finding,) = found(answers_drift, seen(quality(loud)))
    assert "4 of 24 end by themselves, 15 before and 8 of 24 go round in circles, 0 before" in finding.text


def test_a_reference_of_narrow_weights_is_said() -> None:
    (finding,) = found(reference_quantised, seen(replace(quality(), reference_note="bf16 was Q4_1")))

    assert (finding.code, finding.text) == ("quality_reference_quantised", "bf16 was Q4_1")
