"""Loads that cannot be compared shrink what an answer says, and it says which they are and why."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.analyze.answer.test_regimes import compared, regimes
from tests.analyze.make_cell import summary
from tests.analyze.make_observed import arm
from whichbits.analyze.answer.recommend import recommend
from whichbits.analyze.crossings.crossover import crossovers
from whichbits.analyze.curves.slo import slo_capacities
from whichbits.analyze.summary import CellSummary, LeftOut
from whichbits.analyze.summary.verdicts import Regime

ARMS = ("w8a8", "w4a16")
LIMIT = "the client was the limit"


def cells(limited: Sequence[tuple[str, int, int]] = (), loads: Sequence[int] = (2, 20, 60)) -> list[CellSummary]:
    """w8a8 leads by a quarter at every load; two repeats."""
    made = [
        replace(summary(name, load, value * load, repeat), client_verdict="client_ok")
        for load in loads
        for name, value in (("w8a8", 4.0), ("w4a16", 5.0))
        for repeat in (0, 1)
    ]
    return [
        replace(cell, client_verdict="client_limited") if (cell.arm, cell.concurrency, cell.repeat) in limited else cell
        for cell in made
    ]


def both(name: str, load: int) -> list[tuple[str, int, int]]:
    return [(name, load, 0), (name, load, 1)]


def test_the_range_is_that_of_the_loads_compared() -> None:
    made = cells(both("w4a16", 2))

    found = recommend(made, ARMS, "tpot_ms.p50", crossovers(made, ARMS))

    assert found is not None
    assert list(found.loads) == [20, 60]
    assert found.left_out == (LeftOut(2, LIMIT, 2, 2),)
    assert "measured at 20 to 60" in found.text


def test_one_usable_repeat_of_two_is_used_and_said() -> None:
    made = cells([("w4a16", 2, 1)])

    found = recommend(made, ARMS, "tpot_ms.p50", crossovers(made, ARMS))

    assert found is not None
    assert list(found.loads) == [2, 20, 60]
    assert found.left_out == (LeftOut(2, LIMIT, 1, 2),)


def test_nothing_is_left_out_where_all_is_usable() -> None:
    found = recommend(cells(), ARMS, "tpot_ms.p50")

    assert found is not None
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("load", "name", "near", "other"),
    [(2, "low_load", 20, "high_load_throughput"), (60, "high_load_throughput", 20, "low_load")],
)
def test_no_regime_moves_to_another_load(load: int, name: str, near: int, other: str) -> None:
    found = regimes(compared(cells(both("w8a8", load))))

    assert (found[name].arm, found[name].load) == (None, load)
    assert found[name].text.startswith(
        f"Not known at {load} concurrent requests: {LIMIT}. At {near} concurrent requests, the nearest that can be "
        "compared, "
    )
    assert found[other].arm is not None


def test_an_arm_without_any_usable_cell_is_not_told_apart() -> None:
    made = cells()
    lost = [replace(cell, arm="w4a8", state="planned") for cell in made if cell.arm == "w8a8"]
    known = {name: arm(name) for name in (*ARMS, "w4a8")}

    found = regimes(compared([*made, *lost], known))

    assert found["low_load"].level_with == ("w4a8",)


def under_slo(shares: dict[str, dict[int, tuple[int, int]]], **verdicts: tuple[int, ...]) -> Regime:
    """Answer from (good, sent) by arm and load; ``verdicts`` names the loads at which the client was the limit."""
    made = [
        replace(
            summary(name, load, 10.0 if name == "w8a8" else 8.0),
            slo_share=good / sent,
            requests=sent,
            failed=0,
            client_verdict="client_limited" if load in verdicts.get(name, ()) else "client_ok",
        )
        for name, curve in shares.items()
        for load, (good, sent) in curve.items()
    ]
    return regimes(compared(made, slo_capacities=slo_capacities(made, ARMS)))["high_load_latency"]


def test_a_lowest_load_that_the_client_limited_is_not_said_to_break_the_slo() -> None:
    shares = {"w8a8": {2: (600, 600), 20: (550, 600)}, "w4a16": {2: (600, 600), 20: (600, 600)}}

    found = under_slo(shares, w8a8=(2,))

    assert (found.arm, found.level_with) == ("w4a16", ())
    assert found.text.endswith(f"w8a8 below 20 (not known: {LIMIT} at 2)")


def test_ten_requests_cannot_tell_that_99_percent_hold() -> None:
    """381 that all hold are the fewest whose Wilson bound is 99 %: n / (n + 1.96^2) >= 0.99."""
    found = under_slo({"w8a8": {1: (8, 10), 4: (10, 10)}, "w4a16": {1: (10, 10), 4: (10, 10), 16: (1, 10)}})

    assert (found.arm, found.level_with) == (None, ("w8a8",))
    assert found.text == (
        "Not known: w4a16, 10 of 10 requests hold the SLO at 4 concurrent requests, 10 of 10 of w8a8; 99% takes 381 "
        "requests a load at least; not told apart from w8a8"
    )


def test_shares_that_lie_apart_tell_arms_apart_though_99_percent_is_not_proven() -> None:
    found = under_slo({"w8a8": {1: (64, 64), 32: (18, 256)}, "w4a16": {1: (64, 64), 32: (256, 256)}})

    assert (found.arm, found.level_with) == ("w4a16", ())
    assert "256 of 256 requests hold the SLO at 32 concurrent requests, 18 of 256 of w8a8" in found.text


def test_arms_that_hold_everywhere_are_ranked_by_what_comes_next_and_it_is_said() -> None:
    """By hand: throughput 10 against 8 is 25 % more."""
    found = under_slo({name: {1: (600, 600), 32: (600, 600)} for name in ARMS})

    assert (found.arm, found.metric, found.next_best) == ("w8a8", "output_tokens_per_s", "w4a16")
    assert found.text == (
        "w8a8 and w4a16 hold the SLO for 99% of their requests up to 32 concurrent requests (the highest load of "
        "the study); of these, w8a8 is 25% ahead of w4a16 by output throughput"
    )


def test_of_a_load_that_arms_met_in_different_repeats_those_are_told_that_some_arm_lost() -> None:
    """b joins a and c, which share no repeat; a lost its repeat 0, which only c had besides."""
    met = {("a", 0), ("a", 1), ("b", 1), ("b", 2), ("c", 0), ("c", 2)}
    made = [replace(summary(name, 8, 10.0, repeat), client_verdict="client_ok") for name, repeat in sorted(met)]
    made[0] = replace(made[0], client_verdict="client_limited")

    found = recommend(made, ["a", "b", "c"], "tpot_ms.p50")

    assert found is not None
    assert found.loads == (8.0,)
    assert found.left_out == (LeftOut(8, LIMIT, 1, 3),)


def test_a_load_of_which_arms_share_no_repeat_is_told() -> None:
    made = [summary("a", 8, 10.0, 0), summary("b", 8, 20.0, 1), summary("a", 2, 1.0, 0), summary("b", 2, 2.0, 0)]

    found = recommend(made, ["a", "b"], "tpot_ms.p50")

    assert found is not None
    assert found.loads == (2.0,)
    assert found.left_out == (LeftOut(8, "no repeat that all arms met", 0, 0),)
