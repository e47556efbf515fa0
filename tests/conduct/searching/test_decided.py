"""Steps of a search stand in the record before they are measured, and what they bought in it and in their cells."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.record.make_run import ended, manifest, record
from whichbits.conduct.searching.decided import Decided
from whichbits.conduct.searching.paces import Paces
from whichbits.record.run import Run
from whichbits.record.schema import Cell
from whichbits.record.writer import RunWriter
from whichbits.study.model import Study
from whichbits.study.read import quickstart


@pytest.fixture
def decided(tmp_path: Path) -> Decided:
    return Decided(RunWriter.create(tmp_path, manifest()))


def wanted(decided: Decided, arms: list[str], load: int, block: int) -> list[Cell]:
    return [Cell(0, arm, load, None, decided.repeat(arms, load, block)) for arm in arms]


def measure(decided: Decided, *cells: Cell, seconds: float = 2.0) -> None:
    for cell in cells:
        records = [replace(record(), finished_ns=round(seconds * 1e9))]
        decided.writer.cell(replace(ended(cell, records), notes=()), records)


def test_cells_are_numbered_on_and_arms_of_a_step_share_their_repeat(decided: Decided) -> None:
    first = decided.add(wanted(decided, ["a", "b"], 4, 0), 0, "sweep", 1.0)
    alone = decided.add(wanted(decided, ["a"], 4, 1), 1, "slo", 2.0)
    again = decided.add(wanted(decided, ["b", "a"], 4, 2), 2, "crossing", 3.0)

    assert [(cell.cell, cell.arm, cell.repeat, cell.block) for cell in (*first, *alone, *again)] == [
        (0, "a", 0, 0),
        (1, "b", 0, 0),
        (2, "a", 1, 1),
        (3, "b", 2, 2),
        (4, "a", 2, 2),
    ]
    assert decided.next_block == 3


def test_an_arm_that_comes_late_to_a_load_meets_the_prompts_that_others_met(decided: Decided) -> None:
    decided.add(wanted(decided, ["a"], 8, 0), 0, "slo", 0.0)
    (late,) = decided.add(wanted(decided, ["b"], 8, 1), 1, "slo", 0.0)

    assert late.repeat == 0


def test_what_a_step_bought_outlives_a_kill(decided: Decided) -> None:
    cells = decided.add(wanted(decided, ["a", "b"], 4, 0), 0, "coarse sweep", 1.0)
    measure(decided, *cells)
    decided.conclude(0, "placed it", 5.0)

    found = Run.load(decided.writer.folder)
    assert found.manifest.search is not None
    assert (found.manifest.search.spent_s, found.manifest.search.steps[0].bought) == (5.0, "placed it")
    assert {cell.notes for cell in found.cells} == {("coarse sweep; it bought: placed it",)}
    assert [found.of_cell(cell.cell).num_rows for cell in found.cells] == [1, 1]


def test_a_step_that_grows_is_open_again_and_notes_its_cells_once(decided: Decided) -> None:
    measure(decided, *decided.add(wanted(decided, ["a"], 1, 0), 0, "coarse sweep", 0.0))
    decided.conclude(0, "nothing new", 1.0)
    assert decided.open_step() is None
    measure(decided, *decided.add(wanted(decided, ["a"], 4, 0), 0, "coarse sweep", 1.0))
    step = decided.open_step()
    assert step is not None
    assert step.cells == (0, 1)
    decided.conclude(0, "placed it", 2.0)

    assert [len(cell.notes) for cell in decided.writer.manifest.cells] == [1, 1]
    decided.end("the budget is spent", 3.0)
    assert decided.record.ended == "the budget is spent"


def study() -> Study:
    arms = {name: {"weight_format": "fp16", "model": "smollm2-135m-instruct"} for name in "ab"}
    return Study.model_validate(quickstart().model_dump(mode="json") | {"arms": arms})


def test_times_are_learnt_and_nothing_is_known_before(decided: Decided) -> None:
    paces = Paces(study(), decided.writer)
    assert (paces.cell("a", 4), paces.start("a")) == (0.0, 0.0)

    measure(decided, *decided.add(wanted(decided, ["a"], 4, 0), 0, "sweep", 0.0), seconds=7.0)
    assert paces.cell("a", 4) == pytest.approx(7.0)
    assert paces.cell("b", 4) == pytest.approx(7.0)
    assert paces.measured_seconds() == pytest.approx(7.0)
    slow, rule = paces.cell("a", 64), Paces(study(), decided.writer)
    assert slow == pytest.approx(rule.cell("a", 64))
    assert slow > 7.0

    paces.visited("a", 3.0)
    paces.visited("a", 5.0)
    assert (paces.start("a"), paces.start("b")) == (4.0, 4.0)
