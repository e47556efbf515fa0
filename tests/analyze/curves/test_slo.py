"""Up to which load an arm surely holds its SLO, from counts of good requests."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.curves.slo import enough, slo_capacity
from whichbits.analyze.summary import CellSummary, SloCapacity

GOOD = dict[int, tuple[int, int]]
"""Requests that hold the SLO and requests sent, by load."""


def capacity(counts: GOOD) -> SloCapacity:
    found = slo_capacity([cell(load, *each) for load, each in counts.items()], "a", "concurrency")
    assert found is not None
    return found


def cell(load: int, good: int, sent: int) -> CellSummary:
    return replace(summary("a", load, 1.0), requests=sent, slo_share=good / sent)


def test_a_load_that_is_proven_speaks_for_lower_ones_met_with_few_requests() -> None:
    """400 of 400 prove 99 % at 8, as 381 would; 12 of 12 at 1 prove nothing by themselves, and need not."""
    found = capacity({1: (12, 12), 8: (400, 400), 16: (300, 400)})

    assert enough() == 381
    assert found.low is not None
    assert found.load is not None
    assert 8 <= found.low <= found.load < 16


def test_what_is_broken_below_is_not_held_for_what_comes_above() -> None:
    found = capacity({1: (6, 12), 8: (400, 400)})

    assert (found.load, found.low) == (None, None)


@pytest.mark.parametrize(("sent", "sure"), [(380, False), (381, True)])
def test_a_share_is_sure_from_as_many_requests_as_can_prove_it(sent: int, sure: bool) -> None:
    assert (capacity({1: (sent, sent)}).low is not None) is sure


def test_bounds_are_loads_that_were_met() -> None:
    """Between 8, which surely holds, and 64, which surely does not, nothing tells where the share falls below."""
    found = capacity({8: (1000, 1000), 64: (800, 1000), 128: (100, 1000)})

    assert (found.low, found.high) == (8, 64)
    assert found.load is not None
    assert 8 < found.load < 10
