"""Crossings of predictions, from hand-made curves and draws of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.cells.noise import Replicates
from whichbits.analyze.crossings.predicted import predicted_crossovers
from whichbits.analyze.summary import CellSummary, Crossover

LOADS = (1, 10, 100)

Curve = Sequence[float]


def compared(best: Mapping[str, Curve], draws: Mapping[str, Sequence[Curve]] | None = None) -> Crossover:
    """Return the median TPOT of two arms compared over LOADS, each with its draws of the whole curve."""
    cells: list[CellSummary] = []
    drawn: dict[int, Replicates] = {}
    for arm, curve in best.items():
        for at, load in enumerate(LOADS):
            number = len(cells)
            cells.append(replace(summary(arm, load, curve[at]), cell=number))
            if draws is not None:
                drawn[number] = {"tpot_ms.p50": np.log([draw[at] for draw in draws[arm]])}
    found = predicted_crossovers(cells, list(best), drawn)
    return next(each for each in found if each.metric == "tpot_ms.p50")


FLAT = (10.0, 10.0, 10.0)


def test_a_crossing_lies_where_the_lines_meet_in_log_load() -> None:
    """8 and 10 at load 10, 12.5 and 10 at 100: the log-ratio is as far below as above, so halfway: 31.6."""
    found = compared({"a": (8.0, 8.0, 12.5), "b": FLAT})
    assert found.verdict == "crosses"
    assert found.crossings[0].load == pytest.approx(10**1.5)
    assert (found.crossings[0].low, found.crossings[0].high) == (None, None)
    assert (found.leader_low_load, found.leader_high_load) == ("a", "b")
    assert found.repeats_needed is None


def test_the_interval_is_that_of_the_draws() -> None:
    """Draws of the last point from 10.5 to 20 cross at all loads from 84 down to 20."""
    last = np.geomspace(10.5, 20, 41)
    found = compared({"a": (8.0, 8.0, 12.5), "b": FLAT}, {"a": [(8.0, 8.0, value) for value in last], "b": [FLAT] * 41})
    gap = np.log(10 / 8)
    ends = 10 * 10 ** (gap / (gap + np.log(np.quantile(last, [0.975, 0.025]) / 10)))
    low, high = found.crossings[0].low, found.crossings[0].high
    assert low == pytest.approx(ends[0], rel=0.02)
    assert high == pytest.approx(ends[1], rel=0.04)
    assert found.note == "41 of 41 draws of the predictor's constants cross"


def test_a_draw_without_a_crossing_pushes_the_interval_to_the_end_of_the_range() -> None:
    draws = [(8.0, 8.0, 12.5)] * 15 + [(8.0, 8.0, 9.0)] * 5
    found = compared({"a": (8.0, 8.0, 12.5), "b": FLAT}, {"a": draws, "b": [FLAT] * 20})
    assert found.crossings[0].high == 100
    assert found.note == "15 of 20 draws of the predictor's constants cross"


def test_each_of_two_crossings_has_the_interval_of_those_that_go_its_way() -> None:
    """8, 12.5 and 8 against 10: halfway up and down again, 3.16 and 31.6. Draws of the peak move both, outwards alike.

    A peak at 10.5 crosses at 8.2 and 12.2; one draw that never rises pushes the first to 100 and the second to 1.
    """
    peaks = np.geomspace(10.5, 14.9, 40)
    rising = [(8.0, peak, 8.0) for peak in peaks]
    found = compared({"a": (8.0, 12.5, 8.0), "b": FLAT}, {"a": rising, "b": [FLAT] * 40})
    up, down = found.crossings
    assert up.load == pytest.approx(10**0.5)
    assert down.load == pytest.approx(10**1.5)
    assert up.low is not None
    assert up.high is not None
    assert down.low is not None
    assert down.high is not None
    assert up.low < up.load < up.high < 10 < down.low < down.load < down.high
    assert up.low * down.high == pytest.approx(100, rel=0.01)
    level = compared(
        {"a": (8.0, 12.5, 8.0), "b": FLAT}, {"a": [*rising[:30], *[(8.0, 8.0, 8.0)] * 10], "b": [FLAT] * 40}
    )
    assert level.crossings[0].high == 100
    assert level.crossings[1].low == 1


def test_a_crossing_that_most_draws_deny_is_said_to_be_one() -> None:
    draws = [(8.0, 8.0, 12.5)] * 8 + [(8.0, 8.0, 9.0)] * 12
    found = compared({"a": (8.0, 8.0, 12.5), "b": FLAT}, {"a": draws, "b": [FLAT] * 20})
    assert found.verdict == "crosses"
    assert "most draws do not" in (found.note or "")


def test_what_is_common_to_both_arms_cancels() -> None:
    """A machine that may be half or twice as fast for both says nothing of who leads."""
    speeds = np.geomspace(0.5, 2, 20)
    best = {"a": (8.0, 8.0, 8.0), "b": FLAT}
    found = compared(
        best, {arm: [tuple(speed * value for value in curve) for speed in speeds] for arm, curve in best.items()}
    )
    assert found.verdict == "none"
    assert found.leader_low_load == "a"
    for low, high in found.ratio_intervals:
        assert (low, high) == pytest.approx((0.8, 0.8))


def test_level_arms_tie() -> None:
    assert compared({"a": (10.1, 9.9, 10.0), "b": FLAT}).verdict == "tie"


def test_the_first_repeat_speaks() -> None:
    cells = [summary(arm, 1, value, repeat) for arm, value in (("a", 8.0), ("b", 10.0)) for repeat in range(2)]
    assert all(found.loads == (1.0,) for found in predicted_crossovers(cells, ["a", "b"], {}))
