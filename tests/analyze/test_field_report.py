"""A field report's tables as a study: three arms of Qwen2.5-7B on an L4, medians only, three loads, one run."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.answer.recommend import recommend
from whichbits.analyze.crossings.crossover import crossover, crossovers
from whichbits.analyze.crossings.tails import tails_apart
from whichbits.analyze.summary import CellSummary, Distribution, Metric

LOADS = (1, 10, 100)
UNKNOWN = Distribution(0, None, None, None, None)
MEDIAN_TPOT = {"fp16": (57.03, 60.68, 97.72), "w8a8": (34.91, 37.27, 66.52), "w4a16": (27.79, 30.04, 75.05)}
P99_TPOT = {"fp16": (57.25, None, 531.82), "w8a8": (None, None, 321.48), "w4a16": (None, None, 492.34)}
P99_ITL = {"w8a8": (None, 80.9, None), "w4a16": (None, 79.9, None)}
MEDIAN_TTFT = {"fp16": (95.10, None, 424.41), "w8a8": (None, None, 353.78), "w4a16": (72.24, None, 423.26)}
P99_TTFT = {"fp16": (243.28, None, 3305.0), "w8a8": (None, None, 2441.0), "w4a16": (238.0, None, 3641.0)}
THROUGHPUT = {"fp16": (17.46, 136.95, 642.29), "w8a8": (None, None, 963.60), "w4a16": (None, None, 1044.93)}
PAIR = ("w4a16", "w8a8")
NOTHING = (None, None, None)


def report() -> list[CellSummary]:
    return [_cell(arm, at, load) for arm in MEDIAN_TPOT for at, load in enumerate(LOADS)]


def _cell(arm: str, at: int, load: int) -> CellSummary:
    tpot = Distribution(0, None, MEDIAN_TPOT[arm][at], None, P99_TPOT[arm][at])
    ttft = Distribution(0, None, MEDIAN_TTFT[arm][at], None, P99_TTFT[arm][at])
    itl = replace(UNKNOWN, p99=P99_ITL.get(arm, NOTHING)[at])
    bare = replace(summary(arm, load, 1.0), itl_ms=itl, e2e_ms=UNKNOWN, goodput_requests_per_s=None)
    return replace(bare, tpot_ms=tpot, ttft_ms=ttft, output_tokens_per_s=THROUGHPUT[arm][at])


def test_median_tpot_crosses_somewhere_between_10_and_100_and_no_more_is_known() -> None:
    found = crossover(report(), PAIR, "tpot_ms.p50")

    assert found.verdict == "crosses"
    (crossing,) = found.crossings
    assert (crossing.low, crossing.high) == (10, 100)
    assert 10 < crossing.load < 100
    assert (found.leader_low_load, found.leader_high_load) == ("w4a16", "w8a8")
    assert found.spread_assumed
    assert "no requests to resample" in (found.note or "")


def test_the_leads_at_both_ends_are_the_reports() -> None:
    low, high = crossover(report(), PAIR, "tpot_ms.p50").lead

    assert (low.arm, high.arm) == ("w4a16", "w8a8")
    assert [low.by, high.by] == pytest.approx([34.91 / 27.79 - 1, 75.05 / 66.52 - 1])


def test_w4a16_is_ahead_in_throughput_at_100_and_behind_in_every_latency() -> None:
    latencies: tuple[Metric, ...] = ("tpot_ms.p50", "tpot_ms.p99", "ttft_ms.p50", "ttft_ms.p99")

    assert crossover(report(), PAIR, "output_tokens_per_s").leader_high_load == "w4a16"
    assert {crossover(report(), PAIR, metric).leader_high_load for metric in latencies} == {"w8a8"}


def test_the_tail_loses_at_10_the_lead_that_the_median_still_has() -> None:
    median, tail = (crossover(report(), PAIR, metric) for metric in ("tpot_ms.p50", "itl_ms.p99"))

    assert 1 / median.ratios[1] == pytest.approx(1.24, abs=0.005)
    assert median.ratio_intervals[1][1] < 1
    assert list(tail.loads) == [10]
    assert tail.ratio_intervals[0][0] < 1 < tail.ratio_intervals[0][1]
    (finding,) = [each for each in tails_apart(crossovers(report(), PAIR)) if "decoding" in each.text]
    assert "w4a16 / w8a8 at 10: median TPOT 0.81, p99 ITL 0.99" in finding.evidence


def test_fp16_and_w4a16_do_not_trade_places_in_median_tpot() -> None:
    found = crossover(report(), ("fp16", "w4a16"), "tpot_ms.p50")

    assert (found.verdict, found.leader_low_load, found.leader_high_load) == ("none", "w4a16", "w4a16")


def test_the_answer_admits_how_little_is_known() -> None:
    answer = recommend(report(), list(MEDIAN_TPOT), "tpot_ms.p50", crossovers(report(), list(MEDIAN_TPOT)))

    assert answer is not None
    assert list(answer.uncertain) == [(10, 100)]
    assert "(either within 10 to 100), w8a8 beyond" in answer.text
