"""How the cells went, as tables: windows or why there is none, drains, rates and warm-up."""

from dataclasses import replace

from tests.report.make_summary import make_manifest, make_summary
from whichbits.analyze.load.sending import ArrivalRates, Drain
from whichbits.analyze.load.steady import SteadyState, Unsteady
from whichbits.analyze.summary import CellSummary, Distribution, Summary, WarmUp
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.sheets import COURSES, Sheet, courses
from whichbits.report.sheets.course import rates, steady_windows, warm_ups

MANIFEST = make_manifest()
HELD = SteadyState(0.5, 9.0, 0.85, 40, 3.9, 0.0, 0.01, None)
PACES = WarmUp((12.5, 8.25, 8.0), stable=True, seconds=3.21)


def without(reason: Unsteady) -> SteadyState:
    return SteadyState(None, None, None, None, None, None, None, reason)


def told(steady: SteadyState = HELD, **numbers: object) -> Summary:
    """A summary of whose cells all that these tables show is known."""
    plain = make_summary(failed=None, arms=("w4a16",))
    cells = tuple(
        replace(cell, steady=steady, drain=Drain(1.0, 0.1), mean_concurrency=3.5, **numbers)  # type: ignore[arg-type]
        for cell in plain.cells
    )
    return replace(plain, cells=cells, arms={arm: replace(it, warm_up=PACES) for arm, it in plain.arms.items()})


def rated(cell: CellSummary) -> CellSummary:
    waits = Distribution(80, 9.0, 0.5, 20.0, 84.1)
    return replace(cell, arrival_rates=ArrivalRates(4.0, 5.06, 5.0, 5.1, 5.13, 5.2), send_wait_ms=waits)


def only(sheet: Sheet | None) -> tuple[str, ...]:
    assert sheet is not None
    assert {len(row) for row in sheet.rows} == {len(sheet.headings)}
    return sheet.rows[0]


def test_a_window_is_shown_beside_the_whole_cell() -> None:
    row = only(steady_windows(told(steady_output_tokens_per_s=412.0, output_tokens_per_s=400.0), MANIFEST))

    assert row[2:] == ("0.50 to 9.00", "85.0%", "412", "400", "1.00", "10.0%", "3.50", row[-1])


def test_a_cell_without_a_window_says_why() -> None:
    row = only(steady_windows(told(without("in_flight_grows"), steady_output_tokens_per_s=None), MANIFEST))

    assert row[2:5] == ("none: a queue grows", "–", "–")  # noqa: RUF001 - what is shown for the unknown


def test_repeats_that_have_no_window_are_counted() -> None:
    summary = told()
    first = summary.cells[0]
    again = replace(first, cell=99, repeat=1, steady=without("throughput_drifts"))

    row = only(steady_windows(replace(summary, cells=(*summary.cells, again)), MANIFEST))

    assert row[2] == "0.50 to 9.00 (1 of 2)"


def test_rates_are_of_open_loops_only() -> None:
    summary = told()

    assert rates(summary, MANIFEST) is None
    row = only(rates(replace(summary, cells=tuple(map(rated, summary.cells))), MANIFEST))
    assert row[2:9] == ("4.00", "5.06", "5.00", "5.13", "5.20", "0.50", "84.1")


def test_warm_up_is_an_arm_a_row() -> None:
    assert only(warm_ups(told(), MANIFEST)) == ("w4a16", "settled", "3", "3.21", "12.5", "8.00")
    assert warm_ups(make_summary(), MANIFEST) is None


def test_what_older_runs_did_not_keep_is_no_table() -> None:
    assert [make(make_summary(), MANIFEST) for make in COURSES] == [None, None, None]


def test_both_reports_show_them() -> None:
    summary = told()
    titles = [sheet.title for sheet in courses(summary, MANIFEST)]

    assert titles == ["Steady window and drain", "Warm-up"]
    for report in (html(summary, MANIFEST)["report.html"], markdown(summary, MANIFEST)["report.md"]):
        assert all(title in report.decode() for title in titles)
