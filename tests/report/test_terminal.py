"""The terminal report: every number is the summary's, marks survive without colour, 80 columns hold."""

import re
from dataclasses import replace

import pytest

from tests.analyze.make_observed import UNKNOWN
from tests.report.make_summary import explained, make_manifest, make_summary, renamed, repeated
from whichbits.analyze.summary import CellSummary, Finding, Summary
from whichbits.report.cells.measures import MEASURES
from whichbits.report.terminal import text
from whichbits.report.wording import MISSING, number


def report(summary: Summary) -> str:
    return text(summary, make_manifest())["report.txt"].decode()


def cell_rows(page: str) -> list[list[str]]:
    table = page.split("Cells by")[1].split("Arms\n", maxsplit=1)[0]
    rows = [line.split() for line in table.splitlines()]
    return [row[1:] if re.fullmatch(r"c\d+", row[0]) else row for row in rows if len(row) in (12, 11)][1:]


def test_every_number_in_the_table_is_the_summarys() -> None:
    summary = make_summary()
    shown = {(row[0], index): row for index, row in enumerate(cell_rows(report(summary)))}

    expected = sorted(summary.cells, key=lambda cell: (cell.concurrency or 0, list(summary.arms).index(cell.arm)))
    assert len(shown) == len(expected) == 16
    for (arm, index), row in shown.items():
        cell = expected[index]
        written = [entry.strip("~*") for entry in row[3:10]]
        assert (arm, row[1], row[2]) == (cell.arm, str(cell.requests), str(cell.failed))
        assert written == [number(measure.read(cell)) for measure in MEASURES.values()]


def test_the_best_of_a_load_and_thin_percentiles_are_marked_without_colour() -> None:
    first_load = cell_rows(report(make_summary()))[:4]

    assert [row[5].endswith("*") for row in first_load] == [False, False, True, True]
    assert all(row[6].startswith("~") for row in first_load)
    assert not any(row[5].startswith("~") for row in first_load)


def test_a_cell_that_the_client_limited_is_never_the_best() -> None:
    summary = make_summary()
    limited = tuple(
        replace(cell, client_verdict="client_limited") if cell.arm in ("w4a16", "w4a8") else cell
        for cell in summary.cells
    )

    rows = cell_rows(report(replace(summary, cells=limited)))[:4]

    assert [row[5].endswith("*") for row in rows] == [False, True, False, False]


def test_what_is_missing_is_a_dash_and_never_a_zero() -> None:
    failed = cell_rows(report(make_summary(failed=("w4a16", 32))))[14]

    assert failed == ["w4a16", "64", "64", *[MISSING] * 8]


def test_the_answer_comes_first_and_lines_hold_80_columns() -> None:
    page = report(make_summary())

    titles = ["Answer", "Cells by concurrent requests", "Arms", "Where arms trade places", "Findings"]
    heads = [line.partition("  ")[0] for line in page.splitlines()]
    assert [head for head in heads if head in titles] == titles
    assert max(len(line) for line in page.splitlines()) <= 80


def test_long_names_fold_and_leave_the_numbers_whole() -> None:
    page = report(renamed(make_summary(), "w4a8", "qwen3-32b-w4a8-int8-group-128"))

    assert "57.0*" in page
    assert "…" not in page.split("Cells by")[1].split("Arms\n")[0]


@pytest.mark.parametrize("name", ["\x1b[2Jgone", "a\u202eb"])
def test_names_cannot_steer_the_terminal(name: str) -> None:
    page = report(renamed(make_summary(), "fp16", name))

    assert not {"\x1b", "\u202e"} & set(page)


def test_names_are_not_markup() -> None:
    assert "[bold]" in report(renamed(make_summary(), "fp16", "[bold]"))


def test_a_noisy_pair_says_how_many_repeats_it_lacks_and_who_leads_where_that_is_known() -> None:
    summary = make_summary(arms=("fp16", "w4a16"))
    noisy = replace(summary.crossovers[0], verdict="noisy", crossings=(), leader_low_load=None, repeats_needed=3)

    page = report(replace(summary, crossovers=(noisy,)))

    assert "too noisy (3 more repeats)" in page
    assert f"? → {noisy.leader_high_load}" in page


def test_only_metrics_with_an_answer_fill_the_table_of_crossings_and_goodput_is_one() -> None:
    summary = make_summary(arms=("fp16", "w4a16"))
    crossing = summary.crossovers[0]
    goodput = replace(crossing, metric="goodput_requests_per_s")
    answer = replace(summary.recommendation[0], metric="goodput_requests_per_s")

    page = report(
        replace(
            summary,
            crossovers=(goodput, replace(crossing, metric="tpot_ms.mean")),
            recommendation=(answer,),
        )
    )

    assert page.count("Goodput") == 2
    assert "Mean TPOT" not in page


@pytest.mark.parametrize("summary", [make_summary(), explained(repeated(make_summary()))])
def test_no_line_ends_in_blanks_or_runs_over(summary: Summary) -> None:
    lines = report(summary).splitlines()

    assert [line for line in lines if line != line.rstrip()] == []
    assert max(map(len, lines)) <= 80


def test_repeats_are_one_row_with_their_median_and_half_their_range() -> None:
    page = report(repeated(make_summary()))
    (row,) = (line for line in page.splitlines() if line.startswith(" c1   fp16"))

    # TPOT 23.0 and 25.3: 24.15, give or take 1.15, which is 4.76 %.
    assert row.split()[6:8] == ["24.1", "±5%"]
    assert "half the range of the 2 repeats" in page


def test_a_cap_that_all_rates_share_stands_in_the_title_and_not_in_each_row() -> None:
    summary = make_summary()
    cells = tuple(replace(cell, request_rate=float(cell.concurrency or 1), concurrency=32) for cell in summary.cells)

    page = report(replace(summary, cells=cells, load_unit="request_rate"))

    assert "Cells by requests per second  at most 32 at once" in page
    assert " 16/s" in page
    assert "cap" not in page.split("Cells by")[1].split("Arms\n")[0]


def test_findings_are_few_each_code_once_and_what_makes_numbers_wrong_comes_first() -> None:
    noise = tuple(Finding("observed", f"code_{number}", f"Thing {number}.") for number in range(12))
    alike = tuple(Finding("unresolved", "crossover_noisy", f"Pair {number}.") for number in range(3))
    wrong = Finding("observed", "books_disagree", "Client and engine disagree.", ("much evidence",))

    findings = report(replace(make_summary(), findings=(*alike, *noise, wrong))).split("Findings\n")[1]

    bullets = [line for line in findings.splitlines() if line.startswith(" - ")]
    assert len(bullets) == 8
    assert "books_disagree" in bullets[0]
    assert "much evidence" not in findings
    assert "8 more in report.html" in findings


def test_the_service_level_names_what_each_arm_holds_and_a_miss_says_its_exit_code() -> None:
    summary = explained(make_summary())
    missed = replace(summary, cells=tuple(replace(cell, slo_share=0.5) for cell in summary.cells))
    manifest = replace(make_manifest(), study={**make_manifest().study, "slo": {"ttft_ms": 500.0, "tpot_ms": None}})

    page = text(missed, manifest)["report.txt"].decode()

    assert "TTFT ≤ 500 ms" in page
    assert "17 (surely up to 15)" in page
    assert "exit code 5" in page
    assert "exit code 5" not in report(summary)


def test_replicas_show_their_own_hit_rates_and_that_of_all() -> None:
    page = report(explained(make_summary(arms=("fp16",))))
    rows = [line.split() for line in page.split("Replicas")[1].splitlines() if "%" in line][:3]

    # 120 and 240 of 480 each: 25 % and 50 %, together 360 of 960.
    assert [row[-1] for row in rows[:2]] == ["25.0%", "50.0%"]
    assert rows[2][-4:] == ["37.5%", "30.0%", "to", "40.0%"]


def test_a_run_that_was_cut_short_says_so_and_prints_the_command_that_goes_on() -> None:
    summary = make_summary()
    cut = replace(summary.cells[-1], state="interrupted", failed=0, errors={"cancelled": 4})
    summary = replace(summary, interrupted=True, cells=(*summary.cells[:-1], cut))

    page = report(summary)

    assert "15 of 16 cells finished, 1 cut short" in page
    assert "whichbits run --resume 2026-11-29T1404-quickstart" in page.splitlines()[2]
    # Cancelled requests are no failures, and the cell is not called finished.
    row = next(line for line in page.splitlines() if "cut short" in line and "w4a8" in line)
    assert row.split()[2] == "0"


def test_repeats_that_never_ran_have_no_spread_to_explain_and_each_state_is_counted_by_itself() -> None:
    summary = repeated(make_summary(failed=None))
    cells = tuple(replace(cell, state="interrupted") if cell.repeat == 0 else _not_run(cell) for cell in summary.cells)

    page = report(replace(summary, interrupted=True, cells=cells))

    assert "1 of 2 cut short, 1 of 2 not run" in page
    assert "half the range" not in page
    assert "half the range" in report(summary)


def _not_run(cell: CellSummary) -> CellSummary:
    return replace(
        cell,
        state="planned",
        ttft_ms=UNKNOWN,
        tpot_ms=UNKNOWN,
        itl_ms=UNKNOWN,
        output_tokens_per_s=None,
        mean_batch=None,
    )


def test_a_run_that_was_resumed_says_when() -> None:
    manifest = replace(make_manifest(), notes=("resumed 2026-11-30T04:33:16+00:00 with 3 cells left",))

    page = text(make_summary(), manifest)["report.txt"].decode()

    assert "Stopped and resumed 2026-11-30 04:33 UTC" in page
    assert "resumed" not in report(make_summary())


def test_what_a_probe_found_of_narrow_activations_stands_below_the_arms() -> None:
    summary = make_summary()
    facts = {"dtype": "f32", "activation_quantization_effective": True}
    arms = {**summary.arms, "w8a8": replace(summary.arms["w8a8"], weight_format="w8a8-int8", facts=facts)}

    page = " ".join(report(replace(summary, arms=arms)).split())

    assert "Activations of w8a8: int8 where they meet weights (verified by a probe), f32 elsewhere." in page
