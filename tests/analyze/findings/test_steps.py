"""What bytes explain of a step, with numbers worked out by hand on a device of 300 GB/s."""

from dataclasses import replace

import pytest

from tests.analyze.make_observed import arm, cell, found, observed
from whichbits.analyze.findings.steps import gain_by_bytes, left_over, little_to_save, tensor_parallel
from whichbits.analyze.limits.roofline import Roofline, StepSplit
from whichbits.analyze.summary import ArmSummary, CellSummary

FP16, W4A16 = arm("fp16", "fp16"), arm("w4a16", "w4a16")


def step(
    name: str, load: int, ms: float, weights: float, *, batch: float | None = None, kv: float = 0.0
) -> CellSummary:
    """A step of ``ms`` of which the reads of weights and KV take so much; arithmetic hides behind them."""
    split = StepSplit(weights, kv, 1.0, ms - weights - kv)
    roof = Roofline("L4", "fp16", 121, 300, 403, ms, batch or load, 328, None, None, split)
    return cell(name, load, roofline=roof)


def test_a_step_far_longer_than_its_reads_is_held_against_the_16_bit_arm() -> None:
    cells = [step("fp16", 1, 57.0, 47.2), step("w4a16", 1, 27.8, 15.0)]

    (finding,) = found(left_over, observed([FP16, W4A16], cells))

    assert "in w4a16 at c1" in finding.text
    assert "at most 3.00 of 12.8 ms could be the price of a format" in finding.text
    assert finding.evidence[1].endswith("left over 12.8 of 27.8 ms = 46%")


def test_a_step_that_its_reads_explain_or_a_full_batch_is_no_finding() -> None:
    explained = [step("fp16", 1, 57.0, 47.2), step("w4a16", 1, 20.0, 15.0)]
    full = [step("w4a16", 64, 57.0, 15.0)]

    assert not found(left_over, observed([FP16, W4A16], explained))
    assert not found(left_over, observed([W4A16], full))
    assert not found(left_over, observed([W4A16], [cell("w4a16", 1)]))


@pytest.mark.parametrize(("weights", "fires"), [(1.0, True), (4.0, False)])
def test_a_model_whose_weights_are_little_of_a_step_leaves_little_to_save(weights: float, fires: bool) -> None:
    assert bool(found(little_to_save, observed([FP16], [step("fp16", 1, 5.0, weights)]))) is fires


def test_a_narrow_arm_does_not_say_what_16_bits_cost() -> None:
    assert not found(little_to_save, observed([W4A16], [step("w4a16", 1, 5.0, 1.0)]))


def test_steps_over_several_gpus_hold_communication() -> None:
    spread = arm("w4a16", "w4a16", tensor_parallel_size=2)

    (finding,) = found(tensor_parallel, observed([spread], [step("w4a16", 1, 20.0, 5.0)]))

    assert finding.evidence[1].endswith("tensor_parallel_size 2")
    assert not found(tensor_parallel, observed([W4A16], [step("w4a16", 1, 20.0, 5.0)]))
    assert not found(tensor_parallel, observed([spread], [step("w4a16", 1, 6.0, 5.0)]))


def pair(low_ms: tuple[float, float], high_ms: tuple[float, float]) -> list[CellSummary]:
    low = [step("fp16", 1, low_ms[0], 47.2), step("w4a16", 1, low_ms[1], 15.0)]
    return [
        *low,
        step("fp16", 100, high_ms[0], 47.2, batch=62.8, kv=4.0),
        step("w4a16", 100, high_ms[1], 15.0, batch=78.4, kv=5.0),
    ]


def test_a_gain_is_held_against_what_fewer_bytes_give() -> None:
    """By hand: 57.0 - 27.8 = 29.2 ms saved, 47.2 - 15.0 = 32.2 by bytes; 2.05 and 1.30 times; 83 and 48 %."""
    (finding,) = found(gain_by_bytes, observed([FP16, W4A16], pair((57.0, 27.8), (97.7, 75.1))))

    assert "57.0 ms, one of w4a16 is 29.2 ms shorter (32.2 by fewer bytes alone)" in finding.text
    assert "from 2.05 to 1.30 times" in finding.text
    assert "83% and then 48%" in finding.text


def test_without_16_bits_the_widest_arm_is_the_measure() -> None:
    w8a8 = arm("w8a8", "w8a8-fp8")

    (finding,) = found(
        gain_by_bytes, observed([w8a8, W4A16], [step("w8a8", 1, 34.9, 25.4), step("w4a16", 1, 27.8, 15.0)])
    )

    assert finding.text == (
        "Against a step of w8a8 at c1, 34.9 ms, one of w4a16 is 7.10 ms shorter (10.4 by fewer bytes alone)."
    )


def test_a_gain_needs_one_widest_arm_and_both_rooflines() -> None:
    other: ArmSummary = arm("bf16", "bf16")
    cells = pair((57.0, 27.8), (97.7, 75.1))

    assert not found(gain_by_bytes, observed([W4A16], cells))
    assert not found(gain_by_bytes, observed([FP16, other, W4A16], cells))
    assert not found(gain_by_bytes, observed([FP16, W4A16], [replace(each, roofline=None) for each in cells]))


def test_a_pace_that_prefill_sets_is_no_step_of_decoding() -> None:
    cells = [
        replace(each, prompt_tokens=1_505_280, output_tokens=15_360, prefix_hit_rate=0.3)
        for each in (step("fp16", 1, 57.0, 47.2), step("w4a16", 1, 27.8, 15.0))
    ]

    assert not found(left_over, observed([FP16, W4A16], cells))
    assert not found(gain_by_bytes, observed([FP16, W4A16], cells))
