"""Tables of evidence: numbers are the summary's, repeats are pooled, what is not known has no table."""

from dataclasses import replace

import pytest

from tests.report.make_summary import explained, make_manifest, make_summary, repeated
from whichbits.analyze.latency.itl_modes import ItlMode, ItlModes
from whichbits.analyze.summary import Crossing, SloCapacity, Summary
from whichbits.report.sheets import CAUSES, COMPARISONS, Sheet
from whichbits.report.sheets.cache import hit_rates
from whichbits.report.sheets.capacity import capacities
from whichbits.report.sheets.gpu import gpu_state
from whichbits.report.sheets.itl import itl_kinds
from whichbits.report.sheets.kernels import kernel_times
from whichbits.report.sheets.latency import latency_split
from whichbits.report.sheets.replicas import replicas
from whichbits.report.sheets.roofline import rooflines, step_split
from whichbits.report.sheets.slo import capacity_text, service_level
from whichbits.report.sheets.start import cold_starts
from whichbits.report.sheets.state import engine_state
from whichbits.report.sheets.tails import rung_text
from whichbits.report.wording import MISSING

MANIFEST = make_manifest()


def known(sheet: Sheet | None) -> Sheet:
    assert sheet is not None
    return sheet


def row(sheet: Sheet | None, *first: str) -> tuple[str, ...]:
    return next(row for row in known(sheet).rows if row[: len(first)] == first)


@pytest.mark.parametrize("make", [*COMPARISONS, *CAUSES])
def test_rows_are_as_wide_as_headings_and_bars_as_many_as_rows(make: object) -> None:
    assert callable(make)
    sheet = known(make(explained(repeated(make_summary())), MANIFEST))

    assert {len(cells) for cells in sheet.rows} == {len(sheet.headings)}
    assert len(sheet.bars) in (0, len(sheet.rows))
    assert all(sum(bar.shares) == pytest.approx(1) for bar in sheet.bars if bar)


@pytest.mark.parametrize(
    "make",
    [
        latency_split,
        itl_kinds,
        rooflines,
        step_split,
        capacities,
        engine_state,
        replicas,
        kernel_times,
        gpu_state,
        cold_starts,
    ],
)
def test_what_nobody_told_has_no_table(make: object) -> None:
    summary = make_summary()
    bare = replace(summary, cells=tuple(replace(cell, mean_batch=None) for cell in summary.cells))

    assert callable(make)
    assert make(bare, MANIFEST) is None


def test_a_requests_time_is_split_by_the_engines_means() -> None:
    sheet = known(latency_split(explained(make_summary()), MANIFEST))

    # 31 gaps of 23 ms, 18 ms of prefill, 2 ms in the queue.
    assert row(sheet, "fp16", "c1") == ("fp16", "c1", "2.00", "18.0", "713", "0.10", "5.50")
    assert sheet.bars[0] is not None
    assert sheet.bars[0].shares[2] == pytest.approx(713 / 733)


def test_a_row_of_which_a_part_is_unknown_has_no_bar() -> None:
    summary = explained(make_summary())
    unsaid = tuple(replace(each, engine_prefill_ms=None) if each.arm == "fp16" else each for each in summary.cells)
    sheet = known(latency_split(replace(summary, cells=unsaid), MANIFEST))

    drawn = {row[0]: bar is not None for row, bar in zip(sheet.rows, sheet.bars, strict=True)}
    assert row(sheet, "fp16", "c1")[2:5] == ("2.00", MISSING, "713")
    assert drawn == {"fp16": False, "w8a8": True, "w4a16": True, "w4a8": True}


def test_where_no_row_is_known_in_full_no_bar_is_drawn() -> None:
    summary = explained(make_summary())
    unsaid = tuple(replace(each, engine_queue_ms=None, engine_prefill_ms=None) for each in summary.cells)

    assert known(latency_split(replace(summary, cells=unsaid), MANIFEST)).bars == ()


def test_a_step_is_split_by_what_it_reads_and_what_is_left_over() -> None:
    assert row(step_split(explained(make_summary()), MANIFEST), "fp16", "c1")[2:] == (
        "23.0",
        "4.00",
        "1.00",
        "2.00",
        "18.0",
    )


def test_both_ways_of_counting_stand_side_by_side() -> None:
    assert row(rooflines(explained(make_summary()), MANIFEST), "fp16", "c4")[5:] == (
        "25.0%",
        "4.0%",
        "6.40",
        "25.0%",
        "4.0%",
        "8.00",
    )


def test_two_kinds_of_gaps_are_shown_with_their_shares() -> None:
    assert row(itl_kinds(explained(make_summary()), MANIFEST), "fp16", "c1")[5:] == (
        "20.0 (90.0%)",
        "120 (10.0%)",
        "40.0%",
        "12.0%",
        "118",
        "20.0",
    )


def test_where_all_gaps_are_of_one_kind_there_are_no_columns_of_a_second() -> None:
    summary = explained(make_summary())
    one = ItlModes(3000, (ItlMode(1.0, 20.0, 0.1),), None, None)
    cells = tuple(replace(cell, itl_modes=one if cell.itl_modes else None) for cell in summary.cells)

    sheet = known(itl_kinds(replace(summary, cells=cells), MANIFEST))

    assert not {"long ms", "time in long"} & set(sheet.headings)
    assert {len(cells) for cells in sheet.rows} == {len(sheet.headings)}


def test_kernel_time_shows_the_kinds_that_ran_and_the_gaps() -> None:
    sheet = known(kernel_times(explained(make_summary()), MANIFEST))

    assert sheet.headings == ("arm", "load", "window ms", "gemm", "attention", "gaps")
    assert sheet.rows[0] == ("fp16", "c4", "480", "70.0%", "20.0%", "10.0%")


def test_a_gpus_energy_is_also_told_by_token() -> None:
    # 960 J for 10 requests of 32 tokens.
    assert row(gpu_state(explained(make_summary()), MANIFEST), "fp16", "c1")[2:6] == ("400", "700", "960", "3.00")


def test_stages_of_a_start_that_nobody_told_are_left_out() -> None:
    sheet = known(cold_starts(explained(make_summary()), MANIFEST))

    assert sheet.headings == ("arm", "weights", "loading", "compile", "CUDA graphs", "init", "rest", "ready")
    assert sheet.rows[0][-1] == "52.0"


def test_a_cache_that_was_never_hit_takes_a_row_an_arm() -> None:
    cold = make_summary(failed=None)
    proved = tuple(replace(cell, hit_rate_as_expected=True) for cell in cold.cells)

    assert len(known(hit_rates(cold, MANIFEST)).rows) == 4
    assert {cells[-1] for cells in known(hit_rates(cold, MANIFEST)).rows} == {"–"}  # noqa: RUF001 - not known
    assert {cells[-1] for cells in known(hit_rates(replace(cold, cells=proved), MANIFEST)).rows} == {"yes"}


def test_repeats_of_replicas_add_up() -> None:
    summary = explained(repeated(make_summary(arms=("fp16",))))

    # Two repeats of 10 requests, half to each replica: 2 x 480 looked up, 2 x 120 found.
    assert row(replicas(summary, MANIFEST), "fp16", "c1", "0")[3:8] == ("10", "50.0%", "960", "240", "25.0%")


def test_the_share_that_holds_an_slo_is_of_all_requests_of_the_repeats() -> None:
    summary = repeated(make_summary(arms=("fp16",)))
    shares = tuple(replace(cell, slo_share=1.0 if cell.repeat else 0.5) for cell in summary.cells)

    assert row(service_level(replace(summary, cells=shares), MANIFEST), "fp16")[2:6] == ("75.0%",) * 4


@pytest.mark.parametrize(
    ("capacity", "said"),
    [
        (None, "–"),  # noqa: RUF001 - not known
        (SloCapacity("a", 0.99, None, None, 4.0, beyond=False), "not even at the lowest load"),
        (SloCapacity("a", 0.99, 129.0, None, 131.0, beyond=False), "129 (too few requests to be sure)"),
        (SloCapacity("a", 0.99, 256.0, 190.0, None, beyond=True), "at least 256 (surely up to 190)"),
    ],
)
def test_the_highest_load_that_holds_is_said_with_its_interval(capacity: SloCapacity | None, said: str) -> None:
    assert capacity_text(capacity) == said


def test_a_rung_says_who_leads_and_where_that_changes() -> None:
    crossover = replace(
        make_summary().crossovers[0],
        verdict="crosses",
        arms=("w4a16", "w8a8"),
        crossings=(Crossing(10.0, 8.0, 13.0),),
        leader_low_load="w4a16",
        leader_high_load="w8a8",
    )

    assert rung_text(crossover) == "w4a16 → w8a8 at 10 (8 to 13)"
    twice = replace(crossover, crossings=(Crossing(12.0, 9.0, 14.0), Crossing(197.0, 150.0, 240.0)))
    there_and_back = replace(twice, arms=("w8a8", "w4a16"), leader_low_load="w8a8")
    assert rung_text(there_and_back) == "w8a8 → w4a16 → w8a8 at 12 (9 to 14), 197 (150 to 240)"
    anywhere = replace(crossover, crossings=(Crossing(1.5, 1.0, 100.0),), loads=(1.0, 10.0, 100.0))
    assert rung_text(anywhere) == "w4a16 → w8a8, not placed (1 to 100)"
    led = replace(crossover, verdict="none", leader_high_load="w4a16", loads=(1.0, 16.0, 64.0))
    assert rung_text(led) == "w4a16 from 1 to 64"
    assert rung_text(replace(led, loads=(64.0,))) == "w4a16 at 64"
    assert rung_text(replace(led, loads=(), leader_low_load=None, leader_high_load=None)) == MISSING
    assert rung_text(replace(crossover, verdict="noisy")) == "too noisy"


def test_interrupted_repeats_do_not_count_where_one_finished() -> None:
    summary: Summary = repeated(explained(make_summary(arms=("fp16",))))
    cut = tuple(replace(cell, state="interrupted") if cell.repeat else cell for cell in summary.cells)
    halves = replace(summary, cells=cut)

    assert row(replicas(halves, MANIFEST), "fp16", "c1", "all")[3] == "10"
