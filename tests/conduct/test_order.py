"""Cells run in an order that favours no arm, and a resumed run does what is left."""

import pytest
from pydantic import ValidationError

from whichbits.conduct.order import pending, visits
from whichbits.study.model import Study
from whichbits.study.read import quickstart


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


def test_arms_that_are_up_together_turn_round_with_every_load_and_repeat() -> None:
    (visit,) = visits(study(arms_together=True, repeats=2, loads=[1, 4]))
    forwards = ["fp16", "w8a8", "w4a16", "w4a8"]
    backwards = forwards[::-1]

    assert [cell.arm for cell in visit.cells] == [*forwards, *backwards, *backwards, *forwards]
    assert [cell.concurrency for cell in visit.cells] == [1] * 4 + [4] * 4 + [1] * 4 + [4] * 4
    assert [cell.cell for cell in visit.cells] == list(range(16))


def test_arms_that_are_up_together_are_not_restarted() -> None:
    with pytest.raises(ValidationError, match="up together cannot be restarted"):
        study(arms_together=True, cache="restart")
