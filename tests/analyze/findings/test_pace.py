"""Bandwidth by bytes loaded or read, prompts by tokens sent or computed."""

from dataclasses import replace

from tests.analyze.make_observed import arm, cell, found, observed
from whichbits.analyze.findings.pace import computed_prompts, loaded_not_read
from whichbits.analyze.limits.roofline import Accounting, Roofline
from whichbits.analyze.summary import CellSummary


def attained(loaded: float, read: float | None) -> Roofline:
    ways = [None if share is None else Accounting(1e9, 1e9, 1, share, 0.1, 1, 1) for share in (loaded, read)]
    return Roofline("L4", "fp16", 121, 300, 403, 57.0, 1, 328, ways[0], ways[1], None)


def test_two_ways_of_counting_bytes_that_differ() -> None:
    (finding,) = found(
        loaded_not_read, observed([arm("fp16", "fp16")], [cell("fp16", roofline=attained(0.897, 0.828))])
    )

    assert "89.7% and 82.8% for fp16" in finding.text
    same, unknown = cell("fp16", roofline=attained(0.83, 0.828)), cell("fp16", roofline=attained(0.897, None))
    assert not found(loaded_not_read, observed([arm("fp16", "fp16")], [same]))
    assert not found(loaded_not_read, observed([arm("fp16", "fp16")], [unknown]))


def prefilling(name: str, rate: float | None, seconds: float) -> CellSummary:
    return cell(name, prompt_tokens=1_505_280, output_tokens=15_360, prefix_hit_rate=rate, duration_s=seconds)


def test_the_pace_of_prefill_behind_different_hit_rates() -> None:
    """By hand: 1,505,280 x 0.696 / 85.5 s = 12,254 and x 0.608 / 91.4 s = 10,013 tokens/s, a ratio of 1.22."""
    cells = [prefilling("bf16", 0.304, 85.5), prefilling("awq", 0.392, 91.4)]

    (finding,) = found(computed_prompts, observed([arm("bf16"), arm("awq")], cells))

    assert "bf16 12,254 (30.4% of its prompts cached) and awq 10,013 (39.2%" in finding.text
    assert "A computed token takes awq 22% longer than bf16" in finding.text


def test_equal_or_unknown_hit_rates_and_decoding_are_no_finding() -> None:
    alike = [prefilling("bf16", 0.304, 85.5), prefilling("awq", 0.304, 91.4)]
    unknown = [prefilling("bf16", 0.304, 85.5), prefilling("awq", None, 91.4)]
    decoding = [replace(each, output_tokens=1_505_280) for each in (prefilling("a", 0.1, 9), prefilling("b", 0.4, 9))]

    for cells in (alike, unknown, decoding):
        assert not found(computed_prompts, observed([arm("bf16"), arm("awq")], cells))


def test_arrivals_that_both_arms_keep_up_with_say_nothing_of_the_pace_of_prefill() -> None:
    """Two H200s served 10 requests/s in either format: fewer tokens were computed because fewer missed."""
    cells = [
        replace(prefilling(name, rate, 48.0), request_rate=10.0, requests_per_s=served)
        for name, rate, served in (("bf16", 0.307, 10.0), ("awq", 0.392, 10.0))
    ]
    behind = [replace(each, requests_per_s=5.0) for each in cells]

    assert not found(computed_prompts, observed([arm("bf16"), arm("awq")], cells))
    assert found(computed_prompts, observed([arm("bf16"), arm("awq")], behind))
