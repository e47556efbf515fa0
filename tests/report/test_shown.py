"""A run that is small enough is shown whole; of others the part is chosen by a rule, and the rule is told."""

from dataclasses import replace
from itertools import pairwise

from tests.report.make_summary import explained, make_manifest, make_summary
from tests.report.make_vast import flights, vast
from whichbits.analyze.crossings.foremost import MOST_ARMS
from whichbits.analyze.summary import Recommendation
from whichbits.report.sheets.every_arm import every_arm
from whichbits.report.shown import MOST_POINTS, shown, shown_arms, shown_cells


def test_an_ordinary_run_is_shown_as_it_is() -> None:
    summary, manifest = explained(make_summary()), make_manifest()

    found = shown(summary, manifest)

    assert found.summary is summary
    assert found.manifest is manifest
    assert found.rules == ()
    assert every_arm(summary) is None
    assert shown_cells(summary) == {cell.cell for cell in summary.cells}


def test_of_very_many_arms_those_that_lead_are_drawn_and_each_stands_in_a_line() -> None:
    summary, manifest = vast(arms=300, loads=2)
    found = shown(summary, manifest, flights(manifest))

    assert list(found.summary.arms) == [f"arm-{number}" for number in range(MOST_ARMS)]
    assert {cell.arm for cell in found.summary.cells} == set(found.summary.arms) == set(found.manifest.arms)
    assert {arm for each in found.summary.crossovers for arm in each.arms} == set(found.summary.arms)
    assert {each.arm for each in found.summary.slo_capacities} == set(found.summary.arms)
    assert {each.cell.arm for each in found.requests} == set(found.summary.arms)
    assert found.rules[0].startswith("300 arms are too many to draw. Charts and tables show 12 of them")
    assert len(found.rules) == 1
    sheet = every_arm(summary)
    assert sheet is not None
    assert [row[0] for row in sheet.rows] == [f"arm-{number}" for number in range(300)]
    assert sheet.rows[299][1:6] == (summary.arms["arm-299"].weight_format, "c1", "50.9", "c2", "51.9")


def test_an_arm_that_the_answer_names_is_drawn_wherever_it_stands() -> None:
    summary, _ = vast(arms=40, loads=2)
    entry = summary.recommendation[0]
    told = Recommendation(entry.metric, (("arm-39", None, None),), "arm-39 throughout")

    assert "arm-39" not in shown_arms(summary)
    assert "arm-39" in shown_arms(replace(summary, recommendation=(told,)))
    assert len(shown_arms(summary)) == MOST_ARMS


def test_of_very_many_loads_the_ends_and_the_places_where_the_lead_changes_are_drawn() -> None:
    summary, manifest = vast(arms=2, loads=900)
    entry = summary.recommendation[0]
    once = Recommendation(entry.metric, (("arm-0", None, 402.5), ("arm-1", 402.5, None)), "")
    summary = replace(summary, recommendation=(once,))

    found = shown(summary, manifest)
    loads = sorted({cell.concurrency or 0 for cell in found.summary.cells})

    assert len(loads) == MOST_POINTS // 2
    assert {1, 2, 3, 4, 5, 6, 7, 8, 402, 403, 900} <= set(loads)
    assert max(later - before for before, later in pairwise(loads)) <= 8
    assert found.rules[0].startswith("900 loads are too many to draw. Charts and tables show 200 of them")
    assert {cell.cell for cell in found.summary.cells} == shown_cells(summary)


def test_a_lead_that_changes_everywhere_leaves_room_for_the_ends() -> None:
    summary, manifest = vast(arms=2, loads=900)
    loads = {cell.concurrency for cell in shown(summary, manifest).summary.cells}

    assert {1, 900} <= loads
    assert len(loads) <= MOST_POINTS // 2
