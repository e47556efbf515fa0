"""Of very many arms, the foremost are those that lead at most places, then those nearest to a lead."""

from dataclasses import replace

from tests.analyze.make_cell import summaries
from whichbits.analyze.crossings.foremost import MOST_ARMS, foremost, nearest_first
from whichbits.analyze.summary import CellSummary

NAMES = [f"arm-{number}" for number in range(20)]


def rising() -> dict[str, dict[int, float]]:
    """Twenty arms, each 5 % slower than the one before."""
    return {name: {1: 10 * 1.05**place, 8: 20 * 1.05**place} for place, name in enumerate(NAMES)}


def paces(curves: dict[str, dict[int, float]]) -> list[CellSummary]:
    """Cells whose latencies say who leads; of work there is nothing to tell apart."""
    return [replace(cell, output_tokens_per_s=None) for cell in summaries(curves)]


def test_as_many_arms_as_can_be_drawn_are_all_foremost() -> None:
    assert foremost((), NAMES[:MOST_ARMS]) == tuple(NAMES[:MOST_ARMS])


def test_the_leader_and_those_nearest_to_it_are_chosen_in_the_order_of_the_study() -> None:
    assert foremost(paces(rising()), NAMES) == tuple(NAMES[:MOST_ARMS])
    backwards = NAMES[::-1]
    assert foremost(paces(rising()), backwards) == ("arm-19", *(f"arm-{n}" for n in range(MOST_ARMS - 2, -1, -1)))


def test_an_arm_that_leads_at_one_load_only_is_chosen_however_slow_it_is_elsewhere() -> None:
    curves = rising() | {"arm-19": {1: 1000.0, 8: 1.0}}

    assert "arm-19" in foremost(paces(curves), NAMES)
    assert nearest_first(paces(curves), NAMES)[:2] == ["arm-0", "arm-19"]


def test_the_baseline_is_always_chosen() -> None:
    assert "arm-18" in foremost(paces(rising()), NAMES, baseline="arm-18")
    assert "arm-19" in foremost(paces(rising()), NAMES[::-1])


def test_arms_of_which_nothing_is_known_come_last() -> None:
    known = {name: curve for name, curve in rising().items() if name != "arm-3"}

    assert nearest_first(paces(known), NAMES)[-1] == "arm-3"
