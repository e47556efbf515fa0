"""The formulas of TTFT, ITL, TPOT and E2E, and the percentiles over them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.make_cell import timelines
from tests.record.make_run import MS, failed, record
from whichbits.analyze.latency import times as latency
from whichbits.analyze.summary import Distribution
from whichbits.record.schema import RequestRecord

ANSWER = replace(
    record(),
    scheduled_ns=0,
    sent_ns=5 * MS,
    chunk_ns=(30 * MS, 40 * MS, 70 * MS),
    chunk_tokens=(1, 4, 1),
    output_tokens=6,
)


def test_each_time_follows_its_formula() -> None:
    one = timelines([ANSWER])

    assert latency.ttft_ms(one).tolist() == [30]
    assert latency.ttft_from_send_ms(one).tolist() == [25]
    assert latency.tpot_ms(one).tolist() == [(70 - 30) / (6 - 1)]
    assert latency.itl_ms(one).tolist() == [10, 30]
    assert latency.e2e_ms(one).tolist() == [70]


def test_gaps_do_not_reach_from_one_answer_to_the_next() -> None:
    several = timelines([ANSWER, failed(ANSWER), replace(ANSWER, chunk_ns=(80 * MS, 81 * MS), chunk_tokens=(1, 1))])

    assert latency.itl_ms(several).tolist() == [10, 30, 1]


def test_a_failed_request_has_no_latency_however_far_it_came() -> None:
    cut_off = timelines([replace(ANSWER, error_code="truncated", error="ended after 6 of 9 tokens")])

    for times in (
        latency.ttft_ms,
        latency.ttft_from_send_ms,
        latency.tpot_ms,
        latency.itl_ms,
        latency.e2e_ms,
    ):
        assert latency.distribution(times(cut_off)).n == 0
    assert latency.excluded_from_tpot(cut_off) == 0


@pytest.mark.parametrize(
    "answer",
    [
        replace(ANSWER, output_tokens=1, chunk_ns=(30 * MS,), chunk_tokens=(1,)),
        replace(ANSWER, output_tokens=None),
        replace(ANSWER, output_tokens=6, chunk_ns=(30 * MS,), chunk_tokens=(6,)),
        replace(ANSWER, output_tokens=0, chunk_ns=(), chunk_tokens=()),
    ],
    ids=["one token", "unknown tokens", "one chunk", "nothing"],
)
def test_an_answer_without_a_measurable_gap_is_excluded_from_tpot_and_counted(answer: RequestRecord) -> None:
    both = timelines([ANSWER, answer])

    assert latency.distribution(latency.tpot_ms(both)).n == 1
    assert latency.excluded_from_tpot(both) == 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_percentiles_interpolate_between_order_statistics(values: list[float]) -> None:
    def naive(percent: int) -> float:
        ordered = sorted(values)
        whole, part = divmod((len(values) - 1) * percent, 100)
        above = ordered[min(whole + 1, len(values) - 1)]
        return ordered[whole] + (above - ordered[whole]) * part / 100

    found = latency.distribution(np.array([*values, np.nan]))

    assert found.n == len(values)
    assert [found.p50, found.p90, found.p99] == pytest.approx([naive(50), naive(90), naive(99)])
    assert found.mean == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize(
    ("samples", "thin"),
    [
        (0, ("p50", "p90", "p99")),
        (19, ("p50", "p90", "p99")),
        (20, ("p90", "p99")),
        (99, ("p90", "p99")),
        (100, ("p99",)),
        (999, ("p99",)),
        (1000, ()),
    ],
)
def test_a_percentile_is_thin_with_fewer_than_ten_samples_beyond(samples: int, thin: tuple[str, ...]) -> None:
    assert latency.distribution(np.ones(samples)).thin == thin


def test_no_samples_give_no_numbers() -> None:
    assert latency.distribution(np.array([np.nan])) == Distribution(0, None, None, None, None, ("p50", "p90", "p99"))
