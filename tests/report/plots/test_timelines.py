"""The request timeline of the page: known requests in, known bars and words out."""

from dataclasses import replace

import pytest

from tests.report.make_summary import make_manifest, make_summary
from tests.report.test_html import HOSTILE, Page
from whichbits.analyze.latency.request_timelines import CellRequests, RequestTimes, Sample
from whichbits.language.language import Code, language
from whichbits.record.schema import Cell
from whichbits.report.html import html
from whichbits.report.plots.request_rows import paths, phases
from whichbits.report.plots.timelines import facts_text, shown_text, timeline
from whichbits.report.policy import POLICY, SCRIPT

GOOD = RequestTimes(0, 0.0, 10.0, 50.0, 200.0, 200.0, 16, 60.0, 100.0, "0")
LOST = RequestTimes(4, 100.0, 100.0, None, None, 400.0, None, None, None, None, "timeout")


def cell_of(*requests: RequestTimes, arm: str = "fp16", load: int = 8, repeat: int = 0) -> CellRequests:
    failed = sum(request.error is not None for request in requests)
    return CellRequests(
        Cell(0, arm, load, None, repeat), Sample(len(requests), 0, 0, 0, 0, len(requests)), failed, requests
    )


def test_a_bar_is_split_at_its_send_and_its_first_token() -> None:
    assert phases(GOOD) == {"wait": (0, 10), "prefill": (10, 50), "decode": (50, 200), "gap": (60, 160)}


@pytest.mark.parametrize(
    ("request_times", "lost_from"),
    [(LOST, 100), (replace(LOST, sent_ms=None), 100), (replace(LOST, first_ms=150.0, last_ms=170.0), 170)],
    ids=["unanswered", "never sent", "cut off"],
)
def test_a_failed_one_is_lost_from_the_last_that_was_heard_of_it(request_times: RequestTimes, lost_from: float) -> None:
    assert phases(request_times)["lost"] == (lost_from, 400)


def test_bars_are_as_wide_as_their_part_of_the_time() -> None:
    drawn = paths((GOOD, LOST))

    assert drawn["wait"] == "M0.0 0.1h25.0v.8h-25.0zM250.0 1.1h0.0v.8h-0.0z"
    assert drawn["decode"] == "M125.0 0.1h375.0v.8h-375.0z"
    assert drawn["lost"] == "M250.0 1.1h750.0v.8h-750.0z"
    assert drawn["failed"] == "M1000.0 1.5h0"


def test_numbers_on_the_page_are_tenths_of_a_millisecond_and_missing_is_nothing() -> None:
    made = timeline([cell_of(replace(GOOD, sent_ms=0.04), LOST)], of=1)

    assert made is not None
    assert made.panels[0].data == "0,1,0,0,500,2000,2000,16,600,1000,\n4,,1000,1000,,,4000,,,,2"
    assert made.names == ("0", "timeout")


def test_a_sample_says_how_many_of_how_many_and_why_these() -> None:
    assert shown_text(Sample(20480, 3, 37, 37, 37, 186)) == (
        "300 of 20,480 requests shown, in the order of their sends: 3 that failed, the 37 slowest to the first token, "
        "the 37 slowest of the rest in all, the 37 of the rest with the longest gaps, 186 spaced evenly over what is "
        "left. Slow and failed ones are more frequent here than in the cell."
    )
    assert shown_text(Sample(48, 0, 0, 0, 0, 48)) == "all 48 requests, in the order of their sends."


def test_the_facts_name_what_stands_out() -> None:
    assert facts_text(cell_of(GOOD, LOST)) == (
        "Last end after 0.40 s. Failed: 1. Slowest first token: 50.0 ms (request 0, planned at 0.00 s). "
        "Longest gap between tokens: 100 ms (request 0, from 0.06 s)."
    )
    assert facts_text(cell_of(LOST)) == "Last end after 0.40 s. Failed: 1."


def test_the_highest_load_of_the_first_arm_is_seen_first_and_people_count_repeats_from_one() -> None:
    cells = [cell_of(GOOD, load=load, arm=arm, repeat=repeat) for arm in "ab" for load in (1, 8) for repeat in (0, 1)]
    made = timeline(cells, of=10)

    assert made is not None
    assert (made.panels[made.first].arm, made.panels[made.first].load, made.panels[made.first].repeat) == ("a", "c8", 1)
    assert made.choices == {"arm": ("a", "b"), "load": ("c1", "c8"), "repeat": ("1", "2")}
    assert made.left_out == "8 of 10 cells can be chosen."


def test_without_requests_there_is_neither_a_timeline_nor_a_script() -> None:
    page = html(make_summary(), make_manifest())["report.html"].decode()

    assert "<script" not in page
    assert 'id="requests"' not in page


@pytest.mark.parametrize("code", ["en", "ko"])
def test_the_page_runs_its_own_script_only_whatever_errors_and_replicas_are_called(code: Code) -> None:
    hostile = cell_of(GOOD, replace(LOST, error=HOSTILE, replica=HOSTILE), arm=HOSTILE)
    page = Page(html(make_summary(), make_manifest(), language(code), (hostile,))["report.html"].decode())

    assert [script for _, script in page.scripts] == [SCRIPT]
    assert ("meta", "content", POLICY) in page.attributes
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) >= 2
    assert "[en]" not in page.text


def test_a_large_run_keeps_the_page_small() -> None:
    long = replace(GOOD, index=19_999, planned_ms=3_600_000.0, sent_ms=3_600_010.0, ended_ms=3_660_000.0)
    cells = [cell_of(*[long] * 30, load=load) for load in range(1, 401)]

    assert len(html(make_summary(), make_manifest(), requests=cells)["report.html"]) < 1_600_000
