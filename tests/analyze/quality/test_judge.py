"""Arms whose distance to the reference is known beforehand, and the verdicts on them."""

import math

import numpy as np
import pytest
from scipy.special import rel_entr

from tests.analyze.quality.synthetic import log_softmax, said, scored
from whichbits.analyze.quality.judge import judge, reference_note
from whichbits.analyze.quality.measures import ArmQuality, Quality
from whichbits.quality.asked import Asked, FreeAnswer
from whichbits.quality.task_results import Scores
from whichbits.record.schema import ArmRecord, Fact
from whichbits.record.timelines import Floats

VOCABULARY, TOKENS, TEXTS = 60, 40, 10
RANDOM = np.random.default_rng(11)
LOGITS = RANDOM.standard_normal((TEXTS, TOKENS, VOCABULARY)) * 3
DRAWN = [[int(np.argmax(row + RANDOM.gumbel(size=VOCABULARY))) for row in text] for text in LOGITS]
"""Texts that the reference itself would write."""


def arm(name: str, logits: Floats, k: int | None = VOCABULARY, asking: int = 0) -> Asked:
    logprobs = log_softmax(logits)
    return said(
        name,
        *(scored(f"d{at % 2}/{at}", DRAWN[at], logprobs[at], k, asking) for at in range(TEXTS)),
    )


def twice(noise: float = 0.0, k: int | None = VOCABULARY) -> Asked:
    again = LOGITS + noise * np.random.default_rng(3).standard_normal(LOGITS.shape)
    return said("bf16", *arm("bf16", LOGITS, k).texts, *arm("bf16", again, k, asking=1).texts)


def judged(other: Asked, reference: Asked | None = None) -> tuple[Quality, ArmQuality]:
    found = judge({"bf16": reference or twice(), other.arm: other}, "bf16", {})
    return found, found.arms[1]


NOISY = LOGITS + 0.4 * np.random.default_rng(4).standard_normal(LOGITS.shape)


def test_perplexity_divergence_and_agreement_are_those_of_the_distributions() -> None:
    p, q = log_softmax(LOGITS)[:, 1:], log_softmax(NOISY)[:, 1:]
    own = [
        [row[token] for row, token in zip(text, drawn[1:], strict=True)] for text, drawn in zip(q, DRAWN, strict=True)
    ]
    _, found = judged(arm("w4a16", NOISY))

    assert found.overall is not None
    assert found.overall.kl is not None
    assert found.overall.agreement is not None
    assert (found.overall.texts, found.overall.tokens) == (TEXTS, TEXTS * (TOKENS - 1))
    assert found.overall.kl.value == pytest.approx(rel_entr(np.exp(p), np.exp(q)).sum(axis=-1).mean(), abs=1e-6)
    assert found.overall.agreement.value == pytest.approx((p.argmax(axis=-1) == q.argmax(axis=-1)).mean())
    assert found.overall.perplexity == pytest.approx(math.exp(-np.mean(own)))
    ratio = found.overall.perplexity / found.overall.reference_perplexity
    assert found.overall.perplexity_ratio.value == pytest.approx(ratio)
    assert found.verdict == "differs"


def test_domains_are_judged_apart_and_add_up() -> None:
    _, found = judged(arm("w4a16", NOISY))
    assert found.overall is not None

    assert [domain for domain, _ in found.domains] == ["d0", "d1"]
    assert sum(each.tokens for _, each in found.domains) == found.overall.tokens


def test_the_reference_is_at_no_distance_from_itself() -> None:
    quality, _ = judged(arm("w4a16", NOISY))
    own = quality.arms[0]

    assert own.verdict == "reference"
    assert own.overall is not None
    assert own.overall.kl is not None
    assert own.overall.agreement is not None
    assert (own.overall.kl.value, own.overall.agreement.value, own.overall.perplexity_ratio.value) == (0.0, 1.0, 1.0)


def test_what_the_reference_does_to_itself_is_no_difference() -> None:
    noise = 0.01
    quality, found = judged(arm("bf16-again", LOGITS + noise * RANDOM.standard_normal(LOGITS.shape)), twice(noise))

    assert quality.noise is not None
    assert quality.noise.distance is not None
    assert 0.3 * noise < quality.noise.distance.typical_difference < noise  # a likely token's own share cancels
    assert found.verdict == "same"


def test_a_difference_of_five_times_the_noise_is_one() -> None:
    _, found = judged(arm("w8a8", LOGITS + 0.05 * RANDOM.standard_normal(LOGITS.shape)), twice(0.01))

    assert found.verdict == "differs"


def test_an_arm_whose_distributions_are_shuffled_is_broken() -> None:
    quality, found = judged(arm("w4a16", RANDOM.permuted(LOGITS, axis=2)))

    assert found.verdict == "broken"
    assert quality.broken == {"w4a16"}


def test_own_log_probabilities_alone_give_the_gap_but_no_divergence() -> None:
    _, found = judged(arm("w4a16", NOISY, k=None), twice(k=None))

    assert found.overall is not None
    assert found.overall.kl is None
    assert found.overall.agreement is None
    assert found.overall.perplexity_ratio.value > 1


def test_the_worst_position_is_the_one_that_was_spoilt() -> None:
    spoilt = LOGITS.copy()
    spoilt[3, 7, DRAWN[3][7]] -= 9
    _, found = judged(arm("w4a16", spoilt))

    assert (found.worst[0].text, found.worst[0].position) == ("d1/3", 7)
    assert found.worst[0].token == f" t{DRAWN[3][7]}"
    assert found.worst[0].before.endswith(f" t{DRAWN[3][6]}")
    assert found.worst[0].gap > 4


def test_texts_that_are_split_otherwise_are_left_out_and_named() -> None:
    other = arm("w4a16", NOISY)
    changed = said("w4a16", scored("d0/0", [1, 2, 3], log_softmax(LOGITS[0, :3]), 5), *other.texts[2:])
    _, found = judged(changed)

    assert found.unpaired == ("d0/0", "d1/1")
    assert found.overall is not None
    assert found.overall.texts == TEXTS - 2


def test_without_the_reference_nothing_is_known() -> None:
    found = judge({"w4a16": arm("w4a16", NOISY)}, "bf16", {})

    assert found.noise is None
    assert [each.verdict for each in found.arms] == ["unknown"]


def test_answers_of_the_second_asking_say_how_steady_the_reference_is() -> None:
    answers = tuple(FreeAnswer(name, asking, tokens, "", "stop") for name, asking, tokens in [
        ("q", 0, ("a",)), ("r", 0, ("b",)), ("q", 1, ("a",)), ("r", 1, ("c",)),
    ])  # fmt: skip
    found = judge({"bf16": Asked("bf16", None, answers=answers)}, "bf16", {})

    assert found.noise is not None
    assert (found.noise.answers, found.noise.identical_answers) == (2, 1)


def test_tasks_are_paired_by_question() -> None:
    reference = Scores("arc", "acc", {str(at): at < 80 for at in range(100)})
    other = Scores("arc", "acc", {str(at): 4 <= at < 81 for at in range(1, 110)})
    scores = {"bf16": [reference], "w4a16": [other]}
    found = judge({"bf16": twice(), "w4a16": arm("w4a16", NOISY)}, "bf16", {}, scores)
    (task,) = found.arms[1].tasks

    assert (task.questions, task.only_arm_right, task.only_reference_right) == (99, 1, 3)
    assert task.recovery == pytest.approx(77 / 79)
    assert task.difference.value == pytest.approx(-2 / 99)
    assert task.p_value == pytest.approx(0.625)


@pytest.mark.parametrize(("made_from", "noted"), [("Q4_1", True), ("F16", False), (None, False)])
def test_a_wide_reference_of_narrow_weights_is_noted(made_from: str | None, noted: bool) -> None:
    record = ArmRecord("fp16", "fp16", "embedded", {"made_from_type": Fact(made_from, "file")}, ())

    assert (reference_note(record) is not None) is noted
