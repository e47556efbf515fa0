"""Of very many arms few pairs are compared, and the answer is the one that all pairs would give."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from benchmarks.large_run import Shape, write_run
from whichbits.analyze.conclude import Inputs, conclude
from whichbits.analyze.crossings import foremost as choosing
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.record.run import Run

ARMS = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = Shape(arms=ARMS, loads=(1, 6), repeats=2, at_least=8, output_tokens=10)
    return write_run(tmp_path_factory.mktemp("runs"), shape)


@pytest.fixture(scope="module")
def few(folder: Path) -> Summary:
    return summarize(Run.load(folder))


@pytest.fixture(scope="module")
def all_pairs(folder: Path) -> Summary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "MOST_ARMS", ARMS)
        return summarize(Run.load(folder))


def test_the_answer_is_that_of_all_pairs(few: Summary, all_pairs: Summary) -> None:
    assert few.answer is not None
    assert all_pairs.answer is not None
    assert few.recommendation == all_pairs.recommendation
    assert few.answer.regimes == all_pairs.answer.regimes
    assert few.slo_capacities == all_pairs.slo_capacities
    assert few.cells == all_pairs.cells


def test_each_comparison_that_is_made_is_the_one_among_all_pairs(few: Summary, all_pairs: Summary) -> None:
    of_all = {(each.metric, each.arms): each for each in all_pairs.crossovers}

    assert len(few.crossovers) < len(of_all) / 1.5
    assert all(of_all[each.metric, each.arms] == each for each in few.crossovers)
    assert few.crossovers_by_capacity
    assert set(few.crossovers_by_capacity) <= set(all_pairs.crossovers_by_capacity)


def test_the_leader_is_compared_with_every_other_arm(few: Summary) -> None:
    (entry,) = (each for each in few.recommendation if each.metric == "tpot_ms.p50")
    leader = entry.ranges[0][0]
    met = {arm for each in few.crossovers if each.metric == "tpot_ms.p50" and leader in each.arms for arm in each.arms}

    assert met == set(few.arms)


def test_the_rule_is_told(few: Summary) -> None:
    (told,) = [each for each in few.findings if each.code == "pairs_chosen"]

    assert told.text.startswith("16 arms make 120 pairs")
    assert f"of {choosing.MOST_ARMS} arms" in told.text


def test_twelve_arms_are_compared_pair_by_pair(folder: Path, few: Summary) -> None:
    run = Run.load(folder)
    arms = tuple(run.manifest.arms)[: choosing.MOST_ARMS]
    twelve = replace(
        run.manifest,
        arms={arm: run.manifest.arms[arm] for arm in arms},
        cells=tuple(cell for cell in run.manifest.cells if cell.arm in arms),
    )
    cells = [cell for cell in few.cells if cell.arm in arms]
    found = conclude(Inputs(twelve, "twelve", {}, cells))

    pairs = {each.arms for each in found.crossovers if each.metric == "tpot_ms.p50"}
    assert pairs == set(combinations(arms, 2))
    assert "pairs_chosen" not in {each.code for each in found.findings}
