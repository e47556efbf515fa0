"""Throughput and latencies that one closed loop cannot have."""

from tests.analyze.make_observed import arm, cell, found, observed
from whichbits.analyze.findings.contradictions import throughput_against_latency
from whichbits.analyze.summary import CellSummary, Distribution


def at_100(name: str, tpot: float, ttft: float, pace: float, **more: object) -> CellSummary:
    middle, start = (Distribution(200, None, value, None, None) for value in (tpot, ttft))
    numbers: dict[str, object] = {"tpot_ms": middle, "ttft_ms": start, "output_tokens_per_s": pace}
    return cell(name, 100, **(numbers | more))


W8A8 = at_100("w8a8", 66.52, 353.78, 963.60)


def test_the_faster_answers_with_the_lower_throughput_are_left_unresolved() -> None:
    (finding,) = found(throughput_against_latency, observed([arm()], [W8A8, at_100("w4a16", 75.05, 423.26, 1044.93)]))

    assert finding.text.startswith("At c100 w8a8 has the lower median TTFT and TPOT, and w4a16 the higher throughput")
    assert finding.settled_by


def test_agreement_a_trade_of_ttft_for_tpot_and_other_loads_are_no_contradiction() -> None:
    agreeing = at_100("w4a16", 75.05, 423.26, 900.0)
    trading = at_100("w4a16", 75.05, 300.0, 1044.93)
    open_loop = at_100("w4a16", 75.05, 423.26, 1044.93, request_rate=5.0)
    other_load = at_100("w4a16", 75.05, 423.26, 1044.93, concurrency=64)

    for other in (agreeing, trading, open_loop, other_load):
        assert not found(throughput_against_latency, observed([arm()], [W8A8, other]))
