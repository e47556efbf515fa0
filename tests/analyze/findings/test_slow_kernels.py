"""Slow kernels are named where a log shows them, and nowhere else."""

from dataclasses import replace

import pytest

from tests.analyze.make_observed import arm, cell, found, observed
from whichbits.analyze.findings.slow_kernels import legacy_kernel, slow_path_in_log, weight_only_fallback
from whichbits.analyze.limits.roofline import Ceiling, Model, Step, roofline
from whichbits.hardware.devices import find_device


@pytest.mark.parametrize(
    "facts",
    [
        {"quantization": "awq"},
        {"quantization": "awq_marlin", "hints": "enforce_eager, quantization_not_fully_optimized"},
        {"quantization": "gptq", "log_warnings": "faster_kernel_refused_by_argument"},
        {"quantization": "bitsandbytes"},
    ],
    ids=["plain awq", "the log's own words", "refused by argument", "bitsandbytes"],
)
def test_a_legacy_kernel_is_named_with_what_would_settle_it(facts: dict[str, str]) -> None:
    (finding,) = found(legacy_kernel, observed([arm(**facts), arm("fp16", "fp16")]))

    assert finding.kind == "interpretation"
    assert finding.text.startswith("w4a16 ran without a fused low-bit kernel")
    assert finding.settled_by


@pytest.mark.parametrize(
    "facts",
    [
        {"quantization": "awq_marlin", "quant_kernels": "MarlinLinearKernel"},
        {"quantization": "gptq", "quant_kernels": "MarlinLinearKernel"},
        {"quantization": "compressed-tensors"},
        {},
    ],
    ids=["marlin", "renamed method with a kernel", "another method", "nothing known"],
)
def test_a_fused_or_unknown_kernel_is_no_finding(facts: dict[str, str]) -> None:
    assert not found(legacy_kernel, observed([arm(**facts)]))


def test_without_a_log_a_method_alone_says_nothing_of_the_kernel() -> None:
    assert not found(legacy_kernel, observed([replace(arm(quantization="awq"), weights_gib=None)]))


def under(device: str, number_type: str) -> object:
    return roofline(Ceiling.of(find_device(device), number_type), Step(20.0, 1.0), Model())


def test_eight_bit_arithmetic_that_falls_back_is_named() -> None:
    by_log = arm("fp8", "w8a8-fp8", hints="fp8_weight_only_marlin_fallback")
    by_device = observed([arm("fp8", "w8a8-fp8")], [cell("fp8", roofline=under("NVIDIA A10", "fp16"))])

    (said,) = found(weight_only_fallback, observed([by_log]))
    (seen,) = found(weight_only_fallback, by_device)

    assert "weight-only" in said.evidence[0]
    assert seen.evidence == ("fp8: A10 has no fp8 units; products are in fp16",)


def test_eight_bit_arithmetic_that_is_there_or_not_claimed_is_no_finding() -> None:
    native = observed([arm("fp8", "w8a8-fp8")], [cell("fp8", roofline=under("NVIDIA L4", "fp8"))])
    wide = observed([arm("w4a16")], [cell("w4a16", roofline=under("NVIDIA A10", "fp16"))])

    assert not found(weight_only_fallback, native)
    assert not found(weight_only_fallback, wide)
    assert not found(weight_only_fallback, observed([arm("fp8", "w8a8-fp8")], [cell("fp8")]))


def test_the_logs_own_reasons_are_repeated() -> None:
    (finding,) = found(slow_path_in_log, observed([arm(log_warnings="untuned_moe_kernel"), arm("fp16", "fp16")]))

    assert "w4a16: untuned_moe_kernel" in finding.text
    assert not found(slow_path_in_log, observed([arm(hints="enforce_eager")]))
