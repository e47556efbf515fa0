"""Comparisons are found by pair and metric, and of very many arms made when somebody asks."""

from dataclasses import replace

from tests.analyze.make_cell import summaries
from whichbits.analyze.crossings.crossover import crossover, crossovers, judge
from whichbits.analyze.crossings.pairs import Pairs, between
from whichbits.analyze.summary import Crossover, Metric

CELLS = summaries({"a": {1: 10.0, 8: 30.0}, "b": {1: 12.0, 8: 20.0}, "c": {1: 11.0, 8: 25.0}, "d": {64: 9.0}})
MADE = crossovers(CELLS, ("a", "b"))


def test_a_pair_is_found_whichever_arm_is_named_first() -> None:
    pairs = Pairs(MADE)

    found = pairs.between("b", "a", "tpot_ms.p50")
    assert found is not None
    assert found == pairs.between("a", "b", "tpot_ms.p50") == between(MADE, ("b", "a"), "tpot_ms.p50")
    assert found.arms == ("a", "b")
    assert pairs.between("a", "c", "tpot_ms.p50") is None
    assert tuple(pairs) == pairs.all() == MADE


def test_what_is_asked_for_is_made_once_and_is_the_same_as_if_all_were() -> None:
    asked: list[tuple[tuple[str, str], Metric]] = []

    def judged(arms: tuple[str, str], metric: Metric) -> Crossover | None:
        asked.append((arms, metric))
        return judge(CELLS, {})(arms, metric)

    pairs = Pairs(MADE, ("a", "b", "c", "d"), judged)
    found = [pairs.between("c", "a", "tpot_ms.p50") for _ in range(2)]

    assert found == [crossover(CELLS, ("a", "c"), "tpot_ms.p50")] * 2
    assert asked == [(("a", "c"), "tpot_ms.p50")]
    assert len(pairs) == len(MADE)
    assert set(pairs.all()) == {*MADE, found[0]}


def test_every_comparison_stands_in_the_order_of_metrics_and_arms() -> None:
    arms = ("a", "b", "c")
    pairs = Pairs(MADE, arms, judge(CELLS, {}))
    whole = crossovers(CELLS, arms)
    for each in reversed(whole):
        pairs.between(*each.arms, each.metric)

    assert pairs.all() == whole


def test_arms_that_share_no_load_and_what_is_no_metric_have_no_comparison() -> None:
    pairs = Pairs(MADE, ("a", "b", "c", "d"), judge(CELLS, {}))

    assert pairs.between("a", "d", "tpot_ms.p50") is None
    assert pairs.between("a", "a", "tpot_ms.p50") is None
    assert between(pairs, ("a", "c"), "mean_batch") is None
    assert pairs.all() == MADE


def test_a_comparison_that_was_made_is_not_made_again() -> None:
    mine = replace(MADE[0], note="as it was made")

    assert Pairs([mine], ("a", "b"), judge(CELLS, {})).between(*mine.arms, mine.metric) is mine
