"""TTFT that passes outside the engine."""

from tests.analyze.make_observed import arm, cell, found, level, observed, split
from whichbits.analyze.findings.front_end import bursts, load_not_reached, outside_engine
from whichbits.analyze.findings.phases import median_far_from_mean, two_kinds_of_steps
from whichbits.analyze.latency.prefill_steps import PrefillSteps
from whichbits.analyze.summary import Distribution, EngineLevel


def ttft(mean: float | None, median: float | None = None) -> Distribution:
    return Distribution(100, mean, median, None, None)


def test_first_tokens_that_the_engine_had_long_sent_are_named() -> None:
    by_mean = cell(latency_split=split(143, 88, 3000), ttft_from_send_ms=ttft(3970.0))
    by_median = cell(load=16, latency_split=split(143, 88, 3000), ttft_from_send_ms=ttft(None, 3970.0))

    (finding,) = found(outside_engine, observed([arm()], [by_mean, by_median]))

    assert "in w4a16 at c8, c16" in finding.text
    assert finding.evidence[1].endswith("client's TTFT 3,970 ms, queue + prefill 231 ms")


def test_a_ttft_that_the_engine_explains_a_small_rest_and_the_unknown_are_no_finding() -> None:
    explained = cell(latency_split=split(143, 88, 3000), ttft_from_send_ms=ttft(260.0))
    small = cell(latency_split=split(0, 10, 3000), ttft_from_send_ms=ttft(40.0))
    unknown = cell(latency_split=None, ttft_from_send_ms=ttft(3970.0))
    unseen = cell(latency_split=split(143, 88, 3000), ttft_from_send_ms=ttft(None))

    assert not found(outside_engine, observed([arm()], [explained, small, unknown, unseen]))


def test_a_load_that_the_engines_never_held_is_named() -> None:
    pooled = cell(load=256, requests_running=level(100), requests_waiting=level(0))

    (finding,) = found(load_not_reached, observed([arm()], [pooled]))

    assert finding.evidence[1].endswith("at most 100 of 256 requests in the engines")


def test_a_load_that_ran_or_waited_or_was_hardly_looked_at_is_no_finding() -> None:
    ran = cell(load=256, requests_running=level(250), requests_waiting=level(0))
    waited = cell(load=256, requests_running=level(100), requests_waiting=level(150))
    glimpsed = cell(load=256, requests_running=EngineLevel(100, 100, 2), requests_waiting=level(0))
    open_loop = cell(load=256, request_rate=1.0, requests_running=level(3), requests_waiting=level(0))

    assert not found(load_not_reached, observed([arm()], [ran, waited, glimpsed, open_loop, cell(load=256)]))


def test_tokens_that_come_in_bursts_have_no_itl_and_no_two_kinds_of_steps() -> None:
    bunched = cell(itl_ms=Distribution(9000, 6.21, 0.02, None, None), prefill_steps=PrefillSteps(9000, 0.1, 6.0, 0.02))

    (finding,) = found(bursts, observed([arm()], [bunched]))

    assert finding.evidence[1].endswith("ITL median 0.020 ms, mean 6.21 ms")
    assert not found(two_kinds_of_steps, observed([arm()], [bunched]))
    assert not found(median_far_from_mean, observed([arm()], [bunched]))


def test_gaps_as_long_as_steps_are_no_bursts() -> None:
    steps = cell(itl_ms=Distribution(9000, 159.14, 21.05, None, None))
    unknown = cell(itl_ms=Distribution(0, None, 0.02, None, None))

    assert not found(bursts, observed([arm()], [steps, unknown]))
