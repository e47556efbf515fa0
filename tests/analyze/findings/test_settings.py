"""What arms differ in beside their bits."""

from typing import Any

import pytest

from tests.analyze.make_observed import arm, found, observed
from whichbits.analyze.activations import activation_words
from whichbits.analyze.findings.settings import activation_types_differ, eager, settings_differ, starts_apart


def two(**facts: tuple[Any, Any]) -> list[Any]:
    return [
        arm("fp16", "fp16", **{name: values[0] for name, values in facts.items()}),
        arm("w4a16", "w4a16", **{name: values[1] for name, values in facts.items()}),
    ]


def test_a_setting_on_which_arms_differ_is_named_with_both_values() -> None:
    (finding,) = found(settings_differ, observed(two(max_num_seqs=(256, 128), max_model_len=(4096, 4096))))

    assert "max_num_seqs is 256 for fp16 and 128 for w4a16" in finding.text
    assert finding.evidence == ("facts: max_num_seqs",)


def test_options_in_the_engines_words_are_compared_and_a_missing_one_is_the_default() -> None:
    study = {"arms": {"fp16": {"options": {}}, "w4a16": {"options": {"swap_space": 8}}}}

    (finding,) = found(settings_differ, observed(two(), study=study))

    assert "option swap_space is default for fp16 and 8 for w4a16" in finding.text


def test_equal_settings_and_what_only_one_arm_tells_are_no_finding() -> None:
    told_once = [arm("fp16", "fp16", max_num_seqs=256), arm("w4a16", "w4a16")]

    assert not found(settings_differ, observed(two(max_num_seqs=(256, 256), quantization=("none", "gptq"))))
    assert not found(settings_differ, observed(told_once))


def test_activation_types_that_differ() -> None:
    (finding,) = found(activation_types_differ, observed(two(dtype=("float16", "bfloat16"))))

    assert "float16 for fp16 and bfloat16 for w4a16" in finding.text
    assert not found(activation_types_differ, observed(two(dtype=("float16", "float16"))))
    assert not found(activation_types_differ, observed(two(dtype=("float16", None))))


def test_eager_arms_are_named() -> None:
    (finding,) = found(eager, observed(two(enforce_eager=(True, True))))

    assert finding.text.startswith("fp16 and w4a16 ran eagerly")
    assert not found(eager, observed(two(enforce_eager=(False, False))))
    assert not found(eager, observed(two()))


@pytest.mark.parametrize(("seconds", "fires"), [((110.9, 5.6), True), ((6.0, 5.6), False), ((4.0, 0.5), False)])
def test_a_start_far_longer_than_anothers_may_be_a_first_start(seconds: tuple[float, float], fires: bool) -> None:
    assert bool(found(starts_apart, observed(two(init_engine_seconds=seconds)))) is fires


def test_one_known_start_is_not_compared() -> None:
    assert not found(starts_apart, observed(two(init_engine_seconds=(110.9, None))))


def test_narrow_activations_that_a_probe_verified_are_not_told_by_the_type_of_the_rest() -> None:
    facts = {"dtype": "f32", "activation_quantization_effective": True}
    arms = [arm("fp16", "fp16", dtype="bf16"), arm("w8a8", "w8a8-int8", **facts)]

    (finding,) = found(activation_types_differ, observed(arms))

    assert (
        "bf16 for fp16 and int8 where they meet weights (verified by a probe), f32 elsewhere for w8a8" in finding.text
    )


def test_a_probe_that_found_nothing_quantised_says_so_and_one_of_wide_activations_says_nothing() -> None:
    idle, wide = {"dtype": "f32", "activation_quantization_effective": False}, {"dtype": "f32"}

    assert activation_words(arm("w8a8", "w8a8-int8", **idle)) == "f32, not quantised (a probe found)"
    assert activation_words(arm("fp16", "fp16", activation_quantization_effective=False, **wide)) == "f32"
    assert activation_words(arm("fp16", "fp16")) is None
