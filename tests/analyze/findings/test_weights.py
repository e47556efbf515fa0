"""How much of a narrow arm is narrow."""

from tests.analyze.make_observed import arm, found, observed
from whichbits.analyze.findings.weights import partly_quantised


def test_weights_that_stayed_wide_are_named_with_their_share() -> None:
    (finding,) = found(partly_quantised, observed([arm("w4a16", quantized_share=0.62), arm("fp16", "fp16")]))

    assert finding.text.startswith("Only 62% of the linear weights of w4a16 are stored in fewer bits")


def test_narrow_weights_wide_arms_and_unknown_shares_are_no_finding() -> None:
    whole, unknown, wide = arm(quantized_share=1.0), arm(), arm("fp16", "fp16", quantized_share=0.0)

    assert not found(partly_quantised, observed([whole, unknown, wide]))
