"""Cost follows from price and throughput, in each cell and where the SLO holds."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.answer.recommend import recommendations
from whichbits.analyze.crossings.crossover import crossovers
from whichbits.analyze.curves.cost import at_their_cost, cheapest_at_slo, priced, prices
from whichbits.analyze.summary import CellSummary, SloCapacity

PRICES = {"a": 3.6, "b": 7.2}


def cell(arm: str, load: int, tokens_per_s: float) -> CellSummary:
    return priced(replace(summary(arm, load, tokens_per_s), intervals={}), PRICES)


def test_prices_are_read_from_the_recorded_study() -> None:
    study = {"arms": {"a": {"price_per_hour": 2}, "b": {"price_per_hour": None}, "c": {}}}

    assert prices(study) == {"a": 2.0}
    assert prices({"name": "imported"}) == {}


def test_a_cell_costs_its_price_over_its_throughput() -> None:
    """3.6 an hour is 0.001 a second; 1000 tokens/s are a million in 1000 s."""
    assert cell("a", 1, 1000).cost_per_million_tokens == pytest.approx(1.0)
    assert cell("b", 1, 500).cost_per_million_tokens == pytest.approx(4.0)


def test_without_a_price_or_tokens_the_cost_is_not_known() -> None:
    assert cell("c", 1, 1000).cost_per_million_tokens is None
    assert priced(replace(summary("a", 1, 1.0), output_tokens_per_s=None), PRICES).cost_per_million_tokens is None


def test_the_interval_of_throughput_is_turned_over() -> None:
    plain = replace(summary("a", 1, 1000), intervals={"output_tokens_per_s": (500.0, 2000.0)})

    assert priced(plain, PRICES).intervals["cost_per_million_tokens"] == pytest.approx((0.5, 2.0))


def test_the_dearer_arm_is_cheaper_from_where_it_gives_twice_as_much() -> None:
    cells = [cell("a", load, 1000.0) for load in (1, 4, 16)]
    cells += [cell("b", load, 1000.0 * load) for load in (1, 4, 16)]
    (found,) = (each for each in crossovers(cells, ("a", "b")) if each.metric == "cost_per_million_tokens")

    assert (found.leader_low_load, found.leader_high_load) == ("a", "b")
    assert [crossing.load for crossing in found.crossings] == [pytest.approx(2.0)]
    assert "cost_per_million_tokens" in {answer.metric for answer in recommendations(cells, ("a", "b"))}


def test_cells_without_prices_are_not_compared_by_cost() -> None:
    cells = [summary(arm, load, 1.0) for arm in "ab" for load in (1, 4)]

    assert "cost_per_million_tokens" not in {each.metric for each in crossovers(cells, ("a", "b"))}
    assert "cost_per_million_tokens" not in {each.metric for each in recommendations(cells, ("a", "b"))}


def held(arm: str, load: float | None) -> SloCapacity:
    return SloCapacity(arm, 0.99, load, None, None, beyond=False)


def test_the_arm_that_serves_cheapest_at_its_slo_is_named() -> None:
    """Read off half way between 4 and 16: the cost is the geometric mean there."""
    cells = [cell("a", 4, 1000), cell("a", 16, 4000), cell("b", 4, 8000), cell("b", 16, 8000)]
    found = at_their_cost((held("a", 8.0), held("b", 16.0), held("c", 4.0)), cells)

    assert [each.cost_per_million_tokens for each in found[:2]] == pytest.approx([math.sqrt(1.0 * 0.25), 0.25])
    assert found[2].cost_per_million_tokens is None
    (said,) = cheapest_at_slo(found)
    assert "b serves cheapest" in said.text


@pytest.mark.parametrize(
    "useless", [{"client_verdict": "client_limited"}, {"state": "interrupted"}, {"failed": 30, "requests": 64}]
)
def test_what_tokens_cost_is_not_known_beyond_the_cells_that_can_be_used(useless: dict[str, Any]) -> None:
    """The cell at 16 gives no cost, and that of 4 is no cost at 16."""
    cells = [cell("a", 4, 1000), replace(cell("a", 16, 4000), **useless)]
    at_4, at_8, at_16 = at_their_cost((held("a", 4.0), held("a", 8.0), held("a", 16.0)), cells)

    assert at_4.cost_per_million_tokens == pytest.approx(1.0)
    assert at_8.cost_per_million_tokens is None
    assert at_16.cost_per_million_tokens is None


def test_one_arm_alone_is_not_called_the_cheapest() -> None:
    cells = [cell("a", 4, 1000)]

    assert not list(cheapest_at_slo(at_their_cost((held("a", 4.0), held("b", None)), cells)))
