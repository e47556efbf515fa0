"""Arms against each other at the same share of their capacity, by cost, and by the load that holds the SLO."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.analyze.make_cell import summary
from tests.record.make_run import PowerLaw
from whichbits.analyze.crossings.alignment import alignments_apart
from whichbits.analyze.crossings.crossover import (
    crossover,
    crossovers,
    crossovers_by_capacity,
)
from whichbits.analyze.curves.cost import cost_per_million_tokens, priced
from whichbits.analyze.curves.slo import slo_capacities, slo_loads, wilson
from whichbits.analyze.summary import CellSummary, Crossover, Distribution

LOADS = (1, 2, 4, 8, 16, 32, 64)


def cell(arm: str, load: int, tpot: float, work: float) -> CellSummary:
    times = Distribution(2000, tpot, tpot, tpot, tpot)
    return replace(summary(arm, load, 1.0), tpot_ms=times, output_tokens_per_s=work)


def arm(name: str, tpot: PowerLaw, work: PowerLaw) -> list[CellSummary]:
    return [cell(name, load, tpot(load), work(load)) for load in LOADS]


def by_capacity(cells: list[CellSummary]) -> tuple[str, str | None, tuple[float, ...]]:
    (found,) = [each for each in crossovers_by_capacity(cells, ("a", "b")) if each.metric == "tpot_ms.p50"]
    assert found.load_unit == "share_of_capacity"
    return found.verdict, found.leader_low_load, found.loads


def test_the_shares_run_up_to_each_arms_own_peak() -> None:
    verdict, leader, shares = by_capacity(
        arm("a", PowerLaw(10, 0.1), PowerLaw(100, 0.5)) + arm("b", PowerLaw(20, 0.1), PowerLaw(700, 0.5))
    )

    assert (verdict, leader) == ("none", "a")
    assert shares == pytest.approx([2 ** (-step / 2) for step in range(6, -1, -1)])


def test_an_arm_that_is_slower_at_every_load_may_lead_at_every_share_of_capacity() -> None:
    """b takes 1.2 times as long at any load, but a's work grows so slowly that equal shares mean far higher loads."""
    cells = arm("a", PowerLaw(10, 0.5), PowerLaw(100, 0.2)) + arm("b", PowerLaw(12, 0.5), PowerLaw(100, 0.8))

    assert crossover(cells, ("a", "b"), "tpot_ms.p50").leader_low_load == "a"
    # From b's share s, its load is 64 s^(1/0.8); at the lowest common share, a's load is 1 and b's 64^(3/4) = 22.6.
    assert by_capacity(cells)[:2] == ("none", "a")
    flipped = arm("a", PowerLaw(10, 0.5), PowerLaw(100, 0.8)) + arm("b", PowerLaw(12, 0.5), PowerLaw(100, 0.2))
    assert by_capacity(flipped)[1] == "b"


def test_what_is_held_equal_is_named_where_it_decides() -> None:
    cells = arm("a", PowerLaw(12, 0.5), PowerLaw(100, 0.2)) + arm("b", PowerLaw(10, 0.5), PowerLaw(100, 0.8))
    by_load, shares = crossovers(cells, ("a", "b")), crossovers_by_capacity(cells, ("a", "b"))

    # At share s, a is at load 64 s^5 and b at load 64 s^1.25: 12 s^2.5 = 10 s^0.625 at s = (10 / 12)^(1 / 1.875).
    (finding,) = [each for each in alignments_apart(by_load, shares) if each.text.startswith("median TPOT")]

    assert "at equal loads it is b's throughout" in finding.text
    assert "at equal shares of each arm's own capacity it crosses at 0.9 (" in finding.text
    assert list(alignments_apart(by_load, by_load)) == []


def test_loads_beyond_the_peak_have_no_share_of_their_own() -> None:
    cells = arm("a", PowerLaw(10, 0.1), PowerLaw(100, 0.5)) + arm("b", PowerLaw(20, 0.1), PowerLaw(100, 0.5))
    cells[5:7] = [cell("a", 32, 30, 300), cell("a", 64, 60, 200)]

    _, _, shares = by_capacity(cells)

    assert len(shares) == 5
    assert shares[-1] == 1


def test_arms_of_equal_speed_differ_by_price() -> None:
    cells = arm("a", PowerLaw(10), PowerLaw(100, 0.5)) + arm("b", PowerLaw(10), PowerLaw(200, 0.25))

    def at(prices: dict[str, float]) -> Crossover:
        return crossover([priced(cell, prices) for cell in cells], ("a", "b"), "cost_per_million_tokens")

    found, cheaper = at({"a": 1.0, "b": 1.0}), at({"a": 0.25, "b": 1.0})

    assert [crossing.load for crossing in found.crossings] == [pytest.approx(16)]
    assert (found.leader_low_load, found.leader_high_load) == ("b", "a")
    assert cheaper.leader_low_load == cheaper.leader_high_load == "a"
    assert cheaper.ratios[0] == pytest.approx(0.5)


def test_a_million_tokens_at_a_thousand_a_second_take_a_thousand_seconds() -> None:
    assert cost_per_million_tokens(3.6, 1000) == pytest.approx(1.0)


def with_slo(name: str, shares: dict[int, float], requests: int = 1000) -> list[CellSummary]:
    return [
        replace(summary(name, load, 1.0), slo_share=share, requests=requests, failed=0)
        for load, share in shares.items()
    ]


def test_the_load_that_holds_the_slo_lies_where_the_share_of_good_requests_falls_below_it() -> None:
    cells = with_slo("a", {1: 1.0, 4: 1.0, 16: 0.98, 64: 0.4}) + with_slo("b", {1: 1.0, 4: 0.5, 16: 0.0, 64: 0.0})

    first, second = slo_capacities(cells, ("b", "a"))

    assert (first.arm, second.arm) == ("a", "b")
    assert first.load == pytest.approx(8)
    assert second.load == pytest.approx(4**0.02)
    assert first.low is not None
    assert first.high is not None
    assert first.low < 8 < first.high
    assert not first.beyond


def test_the_loads_that_hold_are_told_best_arm_first() -> None:
    cells = with_slo("b", {1: 1.0, 4: 0.5}) + with_slo("a", {1: 1.0, 4: 1.0}) + with_slo("c", {1: 0.5, 4: 0.1})

    (finding,) = slo_loads(cells)

    assert "99% of requests hold the SLO" in finding.text
    assert ": a up to at least 4; b up to 1.0 (1 to 4); c at no load." in finding.text
    assert finding.evidence[1] == "b: 1000 of 1000 at 1, 500 of 1000 at 4"


def test_few_requests_cannot_prove_that_nearly_all_hold() -> None:
    (found,) = slo_capacities(with_slo("a", {1: 1.0, 4: 1.0}, requests=16), ("a",))

    assert (found.load, found.low, found.high, found.beyond) == (4, None, None, True)


def test_an_arm_that_holds_nowhere_has_no_such_load() -> None:
    (found,) = slo_capacities(with_slo("a", {1: 0.5, 4: 0.1}), ("a",))

    assert (found.load, found.low, found.high) == (None, None, 1)


def test_without_an_slo_there_is_no_capacity_under_it() -> None:
    assert slo_capacities(arm("a", PowerLaw(1), PowerLaw(1)), ("a",)) == ()


@pytest.mark.parametrize(("good", "n"), [(0, 5), (5, 5), (37, 40), (990, 1000)])
def test_bounds_of_a_share_are_scipys(good: int, n: int) -> None:
    low, high = wilson(*(np.array([float(value)]) for value in (good, n)))
    expected = stats.binomtest(good, n).proportion_ci(method="wilson")

    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-4)
    assert not math.isnan(low[0])
