"""Cells run in an order that favours no arm, and a resumed run does what is left."""

from collections import Counter

import pytest
from pydantic import ValidationError

from whichbits.conduct.order import pending, turned, visits
from whichbits.study.model import Study
from whichbits.study.read import quickstart

TWO = {name: {"weight_format": "fp16", "model": "smollm2-135m-instruct"} for name in "ab"}


def study(**changes: object) -> Study:
    return Study.model_validate(quickstart().model_dump(mode="json") | changes)


def test_arms_run_forwards_then_backwards() -> None:
    order = [arm for visit in visits(study(repeats=2)) for arm in visit.arms]

    assert order == ["fp16", "w8a8", "w4a16", "w4a8", "w4a8", "w4a16", "w8a8", "fp16"]


def test_every_arm_load_and_repeat_is_a_cell_once_and_cells_are_numbered_as_they_run() -> None:
    cells = [cell for visit in visits(study(repeats=3)) for cell in visit.cells]

    assert [cell.cell for cell in cells] == list(range(4 * 4 * 3))
    assert len({(cell.arm, cell.concurrency, cell.repeat) for cell in cells}) == len(cells)


def test_a_restart_gives_each_cell_a_server_of_its_own() -> None:
    assert all(len(visit.cells) == 1 for visit in visits(study(cache="restart")))


def test_what_is_finished_is_not_run_again() -> None:
    planned = visits(quickstart())
    left = pending(planned, {0, 1, 2, 3, 5})

    assert [visit.arms for visit in left] == [("w8a8",), ("w4a16",), ("w4a8",)]
    assert [cell.cell for cell in left[0].cells] == [4, 6, 7]


def test_two_arms_that_are_up_together_turn_round_with_every_load_and_repeat() -> None:
    (visit,) = visits(study(arms=TWO, arms_together=True, repeats=2, loads=[1, 4]))

    assert [cell.arm for cell in visit.cells] == ["a", "b", "b", "a", "b", "a", "a", "b"]
    assert [cell.concurrency for cell in visit.cells] == [1] * 2 + [4] * 2 + [1] * 2 + [4] * 2
    assert [cell.cell for cell in visit.cells] == list(range(8))


@pytest.mark.parametrize("count", [3, 4, 5])
def test_of_more_arms_each_comes_at_each_place_and_before_each_other_equally_often(count: int) -> None:
    arms = [f"arm{number}" for number in range(count)]
    turns = [turned(arms, turn) for turn in range(2 * count)]

    assert all(sorted(turn) == arms for turn in turns)
    for arm in arms:
        assert Counter(turn.index(arm) for turn in turns) == dict.fromkeys(range(count), 2)
        others = [other for other in arms if other != arm]
        assert all(sum(turn.index(arm) < turn.index(other) for turn in turns) == count for other in others)


def test_a_linear_drift_weighs_equally_on_arms_that_are_up_together() -> None:
    (visit,) = visits(study(arms_together=True, repeats=8, loads=[1]))
    places = {arm: [at for at, cell in enumerate(visit.cells) if cell.arm == arm] for arm in visit.arms}

    assert len({sum(found) for found in places.values()}) == 1


def test_what_a_study_finds_itself_begins_with_a_coarse_sweep() -> None:
    cells = [cell for visit in visits(study(loads={"auto": {"from": 1, "to": 36}})) for cell in visit.cells]

    assert [cell.concurrency for cell in cells] == [1, 6, 36] * 4
    assert {cell.repeat for cell in visits(study(repeats="auto"))[0].cells} == {0}


def test_arms_that_are_up_together_are_not_restarted() -> None:
    with pytest.raises(ValidationError, match="up together cannot be restarted"):
        study(arms_together=True, cache="restart")
