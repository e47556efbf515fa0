"""What the requests of a cell leave open, and that a pair of arms leaves less open than each of them."""

import numpy as np
import pytest

from tests.record.make_run import MS, ended, failed, record
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.cells.noise import Replicates, intervals, replicates, variance
from whichbits.analyze.summary import Metric
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell, RequestRecord
from whichbits.study.model import Slo

SLO = Slo(ttft_ms=30)


def cell(arm: str = "a", load: int | None = 4, rate: float | None = None) -> Cell:
    return Cell(0, arm, load, rate, 0)


def answers(factor: float, spread: float = 0.3, count: int = 200, seed: int = 0) -> list[RequestRecord]:
    """Answers whose pace differs from request to request as ``seed`` says, all times scaled alike."""
    pace = np.random.default_rng(seed).lognormal(0, spread, count)
    return [record(at, at * 100 * MS, 20 * each * factor, 10 * each * factor) for at, each in enumerate(pace)]


def resampled(records: list[RequestRecord], of: Cell | None = None) -> Replicates:
    return replicates(of or cell(), table_of(of or cell(), records), SLO)


def test_every_metric_of_requests_is_resampled() -> None:
    found = resampled(answers(1.0))

    assert set(found) == {
        *(f"tpot_ms.{name}" for name in ("mean", "p50", "p90", "p99")),
        *(f"ttft_ms.{name}" for name in ("p50", "p90", "p99")),
        *(f"{name}.{percentile}" for name in ("itl_ms", "e2e_ms") for percentile in ("p50", "p99")),
        "output_tokens_per_s",
        "goodput_requests_per_s",
    }
    assert {values.shape for values in found.values()} == {(200,)}


def test_an_arm_that_scales_every_answer_is_known_exactly_though_each_arm_is_not() -> None:
    slow, fast = resampled(answers(2.0)), resampled(answers(1.0), cell("b"))

    assert variance(slow["tpot_ms.p50"]) > 1e-4
    metrics: tuple[Metric, ...] = ("tpot_ms.p50", "tpot_ms.mean", "itl_ms.p99", "ttft_ms.p50")
    for metric in metrics:
        assert variance(slow[metric] - fast[metric]) == pytest.approx(0, abs=1e-5)


def test_rows_in_another_order_are_the_same_requests() -> None:
    records = answers(1.0)

    first, other = resampled(records), resampled(records[::-1])

    assert first["ttft_ms.p50"] == pytest.approx(other["ttft_ms.p50"])


def test_answers_that_differ_on_their_own_leave_both_arms_doubts() -> None:
    one, other = resampled(answers(1.0)), resampled(answers(1.0, seed=1), cell("b"))
    alone = variance(one["tpot_ms.p50"])

    assert variance(one["tpot_ms.p50"] - other["tpot_ms.p50"]) == pytest.approx(2 * alone, rel=0.6)


def test_the_interval_of_a_mean_is_its_standard_error() -> None:
    records = answers(1.0, spread=0.1, count=1000)
    summary = cell_summary(ended(cell(), records), table_of(cell(), records))

    low, high = intervals(summary, resampled(records))["tpot_ms.mean"]

    assert summary.tpot_ms.mean is not None
    assert (high - low) / 2 == pytest.approx(1.96 * 0.1 * summary.tpot_ms.mean / np.sqrt(1000), rel=0.2)
    assert low < summary.tpot_ms.mean < high


def test_work_in_an_open_loop_is_set_by_its_arrivals() -> None:
    found = resampled(answers(1.0), cell(load=None, rate=3.0))

    assert "output_tokens_per_s" not in found
    assert np.exp(found["goodput_requests_per_s"]) == pytest.approx(0.9, abs=0.15)


def test_failures_are_drawn_and_have_no_latency() -> None:
    records = [failed(each) if at % 2 else each for at, each in enumerate(answers(1.0))]

    found = resampled(records)

    assert np.isfinite(found["ttft_ms.p50"]).all()
    assert np.isnan(variance(resampled([failed(each) for each in records])["ttft_ms.p50"]))


def test_no_good_request_at_all_is_half_a_one_give_or_take() -> None:
    found = replicates(cell(), table_of(cell(), answers(1.0)), Slo(ttft_ms=0.001))["goodput_requests_per_s"]

    assert np.sqrt(variance(found)) == pytest.approx(1, rel=0.3)


def test_a_single_request_cannot_be_resampled() -> None:
    assert resampled(answers(1.0, count=1)) == {}
