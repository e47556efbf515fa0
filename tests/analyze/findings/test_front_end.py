"""TTFT that passes outside the engine."""

from tests.analyze.make_observed import arm, cell, found, observed, split
from whichbits.analyze.findings.front_end import outside_engine
from whichbits.analyze.summary import Distribution


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
