"""Ratios with intervals, and refusals where a ratio would compare tools, work or failures instead of arms."""

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.analyze.make_side import bench, noisy, of_files, renamed, row, side
from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import aiperf, guidellm, sglang
from tests.record.make_run import PowerLaw, SyntheticArm, make_run
from whichbits.analyze.cells.noise import Replicates
from whichbits.analyze.comparison.comparison import NO_LOAD, THIN, compare_pair
from whichbits.analyze.comparison.sources import read_source
from whichbits.analyze.summary import CellSummary

T4 = 2.776
"""97.5 % point of t with 4 degrees of freedom, as printed in tables."""

SPREAD = 0.02

ANOTHER = bench(lambda _: 0.010, start_times=[0.0101 * index for index in range(1200)])
"""As fast, but measured once more."""


def test_the_ratio_is_candidate_over_baseline(tmp_path: Path) -> None:
    found = row(of_files(tmp_path, bench(lambda _: 0.010), bench(lambda _: 0.012)), "tpot_ms.p50")

    assert found.baseline == pytest.approx(10.0)
    assert found.candidate == pytest.approx(12.0)
    assert found.ratio == pytest.approx(1.2)
    assert (found.practical, found.significant, found.verdict) == (True, True, "worse")


def test_without_noise_only_the_assumed_spread_is_left(tmp_path: Path) -> None:
    found = row(of_files(tmp_path, bench(lambda _: 0.010), ANOTHER), "tpot_ms.p50")

    reach = math.exp(T4 * SPREAD)
    assert found.low == pytest.approx(1 / reach, rel=1e-3)
    assert found.high == pytest.approx(reach, rel=1e-3)


def test_more_throughput_is_better(tmp_path: Path) -> None:
    faster = bench(lambda _: 0.01, output_throughput=160.0)
    found = row(of_files(tmp_path, ANOTHER, faster), "output_tokens_per_s")

    assert found.ratio == pytest.approx(2.0)
    assert found.verdict == "better"


def test_noise_of_both_sides_adds_up_where_prompts_differ(tmp_path: Path) -> None:
    other = bench(noisy(2), input_lens=[101 - index % 3 + 2 for index in range(1200)], total_input_tokens=None)
    found = row(of_files(tmp_path, bench(noisy(1)), other), "tpot_ms.mean")

    # The mean of n log-normal values has the relative variance (exp(0.3**2) - 1) / n.
    variance = 2 * (math.exp(0.3**2) - 1) / 1200
    expected = T4 * math.sqrt(SPREAD**2 + variance)
    assert found.paired is False
    assert found.low is not None
    assert found.high is not None
    assert math.log(found.high / found.low) / 2 == pytest.approx(expected, rel=0.05)


def test_what_requests_have_in_common_cancels_where_prompts_match(tmp_path: Path) -> None:
    drawn = random.Random(3)
    hard = [drawn.lognormvariate(0, 1.5) for _ in range(1200)]
    baseline = side(tmp_path, bench(lambda at: 0.010 * hard[at]), "baseline")
    candidate = side(tmp_path, bench(lambda at: 0.012 * hard[at]), "candidate")
    paired = row(compare_pair((baseline, candidate)), "tpot_ms.mean")
    apart = row(compare_pair((baseline, replace(candidate, prompts={}))), "tpot_ms.mean")

    assert (paired.paired, apart.paired) == (True, False)
    assert paired.verdict == "worse"
    assert apart.verdict == "unclear"
    assert paired.ratio == apart.ratio == pytest.approx(1.2)


def test_a_tail_of_few_requests_decides_nothing(tmp_path: Path) -> None:
    pair = of_files(tmp_path, bench(lambda _: 0.01, requests=300), bench(lambda _: 0.02, requests=300))

    tail, middle = row(pair, "tpot_ms.p99"), row(pair, "tpot_ms.p50")
    assert (tail.verdict, tail.significant, tail.notes) == ("thin", None, (THIN,))
    assert middle.verdict == "worse"


def test_statistics_alone_have_a_ratio_but_no_interval(tmp_path: Path) -> None:
    found = row(of_files(tmp_path, bench_record(), bench_record(mean_tpot_ms=50.0)), "tpot_ms.mean")

    assert found.ratio == pytest.approx(1.25)
    assert (found.low, found.high, found.significant, found.verdict) == (None, None, None, "no_interval")


def test_repeats_of_statistics_have_an_interval(tmp_path: Path) -> None:
    for arm, base in (("a", 40.0), ("b", 80.0)):
        for at, shift in enumerate((0.99, 1.0, 1.01)):
            side(tmp_path / arm, bench_record(mean_tpot_ms=base * shift), f"r{at}")
    baseline, candidate = (read_source(f"{arm}={tmp_path / arm}").sides[0] for arm in ("a", "b"))
    found = row(compare_pair((baseline, candidate)), "tpot_ms.mean")

    assert (found.repeats, found.verdict) == (3, "worse")
    assert found.ratio == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("first", "second", "metric"),
    [
        (
            bench_record(backend="openai-chat", vllm_version="0.25.1"),
            bench_record(backend="openai-chat", vllm_version="0.33.0"),
            "tpot_ms.mean",
        ),
        (
            bench_record(backend="openai-chat", vllm_version="0.32.0", median_ttft_ms=9.0),
            bench_record(backend="openai-chat", vllm_version="0.33.0", median_ttft_ms=9.0),
            "ttft_ms.p50",
        ),
        (bench_record(median_tpot_ms=9.0), guidellm(errored=0), "tpot_ms.p50"),
        (bench_record(), guidellm(errored=0), "output_tokens_per_s"),
    ],
)
def test_numbers_of_different_meaning_are_not_compared(
    tmp_path: Path, first: object, second: object, metric: str
) -> None:
    pair = of_files(tmp_path, first, second)
    (found,) = [each for each in pair.rows if each.metric == metric]

    assert found.verdict == "not_comparable"
    assert found.ratio is None
    assert found.baseline is not None
    assert found.refusal is not None
    assert found.refusal.startswith("defined differently: ")


def test_chat_of_an_unknown_version_is_compared_with_a_caveat(tmp_path: Path) -> None:
    chat = bench_record(backend="openai-chat")
    found = row(of_files(tmp_path, chat, chat), "tpot_ms.mean")

    assert found.ratio == pytest.approx(1.0)
    assert found.notes == ("comparable only if one version of the tool wrote both",)


def test_tools_of_one_meaning_are_compared_and_their_difference_is_told(tmp_path: Path) -> None:
    pair = of_files(tmp_path, sglang(), aiperf())
    found = row(pair, "tpot_ms.p50")

    assert found.ratio == pytest.approx(1.0)
    assert found.notes[0] == "tokens are counted by the client's own tokeniser"
    assert pair.differences["tool"] == ("sglang bench_serving", "aiperf")


def test_different_prompts_are_different_work(tmp_path: Path) -> None:
    pair = of_files(tmp_path, bench_record(), bench_record(total_input_tokens=16000))

    assert {each.refusal for each in pair.rows} == {"different work: 200 and 400 prompt tokens a request"}


def test_different_answers_are_different_work_for_whole_answers_only(tmp_path: Path) -> None:
    pair = of_files(tmp_path, bench_record(), bench_record(total_output_tokens=2000))

    assert row(pair, "output_tokens_per_s").refusal == "different work: 100 and 50 output tokens a request"
    assert row(pair, "tpot_ms.mean").refusal is None


def test_failures_are_no_work(tmp_path: Path) -> None:
    pair = of_files(tmp_path, bench_record(), bench_record(failed=4))

    assert {each.refusal for each in pair.rows} == {"candidate: failed requests"}


def test_a_metric_of_one_side_is_named(tmp_path: Path) -> None:
    pair = of_files(tmp_path, bench_record(median_tpot_ms=3.0), bench_record())

    assert row(pair, "tpot_ms.p50").refusal == "candidate does not have it"


def test_runs_are_held_against_other_tools_from_the_send(tmp_path: Path) -> None:
    arm = {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0))}
    (ours,) = read_source(str(make_run(tmp_path, arm, loads=(4,), per_stream=300))).sides
    theirs = side(
        tmp_path,
        bench_record(
            completed=1200,
            num_prompts=1200,
            total_input_tokens=120_000,
            total_output_tokens=13_200,
            median_ttft_ms=19.0,
            median_e2el_ms=119.0,
        ),
    )
    pair = compare_pair((ours, theirs))

    # whichbits scheduled each request 1 ms before it was sent, and counts its TTFT of 20 ms from there.
    assert row(pair, "ttft_ms.p50").baseline == pytest.approx(19.0)
    assert row(pair, "ttft_ms.p50").ratio == pytest.approx(1.0)
    assert row(pair, "e2e_ms.p50").notes == ("starts when the stream was free to send",)


def test_two_runs_are_compared_from_the_schedule(tmp_path: Path) -> None:
    (ours,) = read_source(str(make_run(tmp_path, {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0))}, loads=(4,)))).sides

    assert row(compare_pair((ours, renamed(ours, "again"))), "ttft_ms.p50").baseline == pytest.approx(20.0)


def test_a_prediction_is_not_paired_with_what_was_measured(tmp_path: Path) -> None:
    measured = side(tmp_path, bench(noisy(1)))
    draws: dict[int, Replicates] = {cell.cell: {"tpot_ms.mean": np.full(7, 2.3)} for cell in measured.cells}
    predicted = replace(measured, resampled=draws, predicted=True, requests={})

    assert row(compare_pair((measured, predicted)), "tpot_ms.mean").paired is False
    assert row(compare_pair((predicted, predicted)), "tpot_ms.mean").paired is True


def test_untold_loads_are_the_reader_s_to_know(tmp_path: Path) -> None:
    told = bench_record(max_concurrency=None)

    assert row(of_files(tmp_path, told, told), "tpot_ms.mean").notes == (NO_LOAD,)


def test_goodput_under_other_bounds_is_another_quantity(tmp_path: Path) -> None:
    (ours,) = read_source(str(make_run(tmp_path, {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0))}, loads=(4,)))).sides
    cells = tuple(replace(cell, goodput_requests_per_s=5.0) for cell in ours.cells)
    lax, strict = (replace(ours, cells=cells, slo=slo) for slo in ("lax", "strict"))

    assert row(compare_pair((lax, lax)), "goodput_requests_per_s").refusal is None
    assert row(compare_pair((lax, strict)), "goodput_requests_per_s").refusal == "the SLOs differ"


def test_an_equal_pair_is_called_equal_once_repeats_show_it(tmp_path: Path) -> None:
    arm = {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0))}
    (ours,) = read_source(str(make_run(tmp_path, arm, loads=(8,), repeats=8))).sides

    found = row(compare_pair((ours, replace(ours, name="again", requests={}))), "tpot_ms.mean")
    assert (found.verdict, found.practical, found.significant) == ("equal", False, False)


def test_the_same_requests_are_equal_without_any_assumed_spread(tmp_path: Path) -> None:
    arm = {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0), client="client_limited")}
    (ours,) = read_source(str(make_run(tmp_path, arm, loads=(4, 8)))).sides
    again = compare_pair((ours, renamed(ours, "again")))

    assert again.identical
    assert {each.verdict for each in again.rows} == {"equal"}
    assert {(each.ratio, each.low, each.high) for each in again.rows} == {(1.0, 1.0, 1.0)}
    assert {each.concurrency for each in again.rows} == {4, 8}


def test_one_request_that_differs_makes_it_another_measurement(tmp_path: Path) -> None:
    slower = bench(lambda at: 0.010 if at else 0.011)

    assert not of_files(tmp_path, bench(lambda _: 0.010), slower).identical
    assert of_files(tmp_path, slower, slower).identical


def test_repeats_that_are_usable_on_both_sides_are_used_and_the_others_told(tmp_path: Path) -> None:
    arms = {name: SyntheticArm(tpot_ms=PowerLaw(at)) for name, at in (("a", 10.0), ("b", 12.0))}
    ours, theirs = read_source(str(make_run(tmp_path, arms, loads=(4,), repeats=3, per_stream=30))).sides
    limited = replace(theirs, cells=tuple(_limited(cell) if cell.repeat == 1 else cell for cell in theirs.cells))
    nothing = replace(theirs, cells=tuple(map(_limited, theirs.cells)))

    found = row(compare_pair((ours, limited)), "tpot_ms.p50")
    assert (found.repeats, found.verdict) == (2, "worse")
    assert "1 of 3 repeats not used (b: client limited)" in found.notes
    assert row(compare_pair((ours, nothing)), "tpot_ms.p50").refusal == "b: client limited"


def test_a_load_at_which_neither_side_has_the_metric_is_not_left_out(tmp_path: Path) -> None:
    arms = {name: SyntheticArm(tpot_ms=PowerLaw(at)) for name, at in (("a", 10.0), ("b", 12.0))}
    sides = read_source(str(make_run(tmp_path, arms, loads=(4, 8)))).sides
    ours, theirs = (replace(each, cells=tuple(map(_without_tpot_at_8, each.cells))) for each in sides)
    rows = [each for each in compare_pair((ours, theirs)).rows if each.metric == "tpot_ms.p50"]

    assert [(each.concurrency, each.refusal) for each in rows] == [(4, None), (8, "a does not have it")]


def _without_tpot_at_8(cell: CellSummary) -> CellSummary:
    return replace(cell, tpot_ms=replace(cell.tpot_ms, p50=None)) if cell.concurrency == 8 else cell


def _limited(cell: CellSummary) -> CellSummary:
    return replace(cell, client_verdict="client_limited")
