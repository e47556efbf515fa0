"""What the way of measuring does to throughput, mean batch, TPOT and peaks."""

from dataclasses import replace

import pytest

from tests.analyze.make_observed import arm, cell, found, level, observed
from whichbits.analyze.findings.measurement import (
    drain_dominated,
    lengths_not_forced,
    median_based_batch,
    peak_above_cap,
    short_outputs,
    throughput_drifts,
    warm_up_gave_up,
)
from whichbits.analyze.load.sending import Drain
from whichbits.analyze.load.steady import SteadyState
from whichbits.analyze.summary import CellSummary, Distribution, WarmUp


def test_two_waves_are_a_drain() -> None:
    two = cell(load=100, requests=200, steady_output_tokens_per_s=None, output_tokens_per_s=642.29)

    (finding,) = found(drain_dominated, observed([arm()], [two]))

    assert "200 requests / 100 streams = 2.0 waves; output 642 tokens/s" in finding.evidence[1]


def test_where_the_steady_window_is_known_it_decides() -> None:
    drained = cell(load=100, requests=1000, steady_output_tokens_per_s=11.5, output_tokens_per_s=10.0)
    steady = cell(load=100, requests=200, steady_output_tokens_per_s=10.2, output_tokens_per_s=10.0)

    (finding,) = found(drain_dominated, observed([arm()], [drained, steady]))

    assert finding.evidence[0] == "cell 0"


def test_one_stream_ten_waves_and_an_open_loop_have_no_drain() -> None:
    one = cell(load=1, requests=2, steady_output_tokens_per_s=None)
    ten = cell(load=10, requests=100, steady_output_tokens_per_s=None)
    open_loop = cell(load=10, requests=12, request_rate=5.0, steady_output_tokens_per_s=None)

    assert not found(drain_dominated, observed([arm()], [one, ten, open_loop]))


def test_a_skewed_tpot_makes_no_mean_batch() -> None:
    known = cell(tpot_ms=Distribution(9, 15.0, 10.0, None, None), output_tokens_per_s=800.0, requests_running=level(12))
    tail_only = cell(tpot_ms=Distribution(0, None, 97.72, None, 531.82))

    (finding,) = found(median_based_batch, observed([arm()], [known, tail_only]))

    assert "by the median 8.00; by the mean 12.0; running by the engines 12.0" in finding.evidence[1]
    assert "TPOT p99 / median 5.4, mean unknown" in finding.evidence[2]


@pytest.mark.parametrize(
    "even",
    [
        cell(tpot_ms=Distribution(9, 10.5, 10.0, None, 50.0)),
        cell(tpot_ms=Distribution(0, None, 10.0, None, None)),
        cell(load=1, tpot_ms=Distribution(9, 15.0, 10.0, None, None)),
        cell(mean_batch=None, tpot_ms=Distribution(9, 15.0, 10.0, None, None)),
    ],
    ids=["mean near median", "unknown tail", "one stream", "no batch"],
)
def test_an_even_tpot_or_an_unknown_one_is_no_finding(even: CellSummary) -> None:
    assert not found(median_based_batch, observed([arm()], [even]))


def test_short_answers_have_no_tpot() -> None:
    few = cell(requests=100, output_tokens=600)
    single = cell(load=16, requests=100, output_tokens=3000, excluded_from_tpot=40)

    (finding,) = found(short_outputs, observed([arm()], [few, single]))

    assert "6.0 output tokens a request" in finding.evidence[1]
    assert "40 without TPOT" in finding.evidence[2]
    assert not found(short_outputs, observed([arm()], [cell(), cell(requests=4, failed=4, output_tokens=0)]))


def test_a_peak_above_the_cap_comes_from_another_tools_buckets() -> None:
    above = [cell("awq", 32, peak_concurrency=47)]

    (finding,) = found(peak_above_cap, observed([arm()], above, source="imported"))

    assert finding.evidence[1].endswith("peak 47, cap 32")
    assert not found(peak_above_cap, observed([arm()], [cell(load=32)], source="imported"))
    assert not found(peak_above_cap, observed([arm()], [cell(peak_concurrency=None)], source="imported"))


def test_answers_that_end_as_they_like() -> None:
    free, forced = ({"request": {"forced_length": value}} for value in (False, True))

    assert found(lengths_not_forced, observed([arm(), arm("fp16", "fp16")], study=free))
    assert not found(lengths_not_forced, observed([arm(), arm("fp16", "fp16")], study=forced))
    assert not found(lengths_not_forced, observed([arm(), arm("fp16", "fp16")]))


def test_a_drain_is_told_in_seconds_where_it_is_known() -> None:
    two = cell(load=100, requests=200, steady_output_tokens_per_s=None, drain=Drain(12.5, 0.4))

    (finding,) = found(drain_dominated, observed([arm()], [two]))

    assert finding.evidence[1].endswith("drain 12.5 s, 40% of the cell")


def test_throughput_that_never_settles_is_named_with_its_change() -> None:
    drifting = SteadyState(None, None, None, None, None, None, -0.31, "throughput_drifts")
    short = SteadyState(None, None, None, None, None, None, None, "too_short")

    (finding,) = found(throughput_drifts, observed([arm()], [cell(steady=drifting), cell(load=1)]))

    assert "w4a16 at c8" in finding.text
    assert finding.evidence[1].endswith("tokens/s change by -31%")
    assert not found(throughput_drifts, observed([arm()], [cell(steady=short), cell(steady=None)]))


def test_an_arm_that_did_not_warm_is_named_with_its_rounds() -> None:
    gave_up, settled, untold = (WarmUp((40.0, 20.0), stable, 2.5) for stable in (False, True, None))

    (finding,) = found(warm_up_gave_up, observed([replace(arm(), warm_up=gave_up)]))

    assert finding.evidence == ("w4a16: medians of 2 rounds 40.0, 20.0 ms, in 2.50 s",)
    for warm_up in (settled, untold, None):
        assert not found(warm_up_gave_up, observed([replace(arm(), warm_up=warm_up)]))
