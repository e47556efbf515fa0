"""Behind the charts: labels never overlap, and a crossing lies on the drawn line."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.make_summary import make_summary
from whichbits.report.measures import MEASURES
from whichbits.report.palette import signs
from whichbits.report.series import between, changes, line, points, spread

PIXELS = st.lists(st.floats(0, 250), min_size=1, max_size=12)


@given(PIXELS)
def test_labels_keep_their_gap_their_order_and_the_plot(wanted: list[float]) -> None:
    placed = spread(wanted, 15, 0, 250)

    by_place = sorted(zip(placed, wanted, strict=True))
    assert all(after[0] - before[0] >= 15 - 1e-6 for before, after in itertools.pairwise(by_place))
    assert [want for _, want in by_place] == sorted(wanted)
    assert min(placed) >= -1e-6
    assert max(placed) <= 250 + 1e-6


def test_labels_that_are_far_apart_stay_where_they_are_wanted() -> None:
    assert spread([100, 20, 60], 15, 0, 250) == (100, 20, 60)


@pytest.mark.parametrize(("y_log", "middle"), [(False, 55.0), (True, 31.622776601683793)])
def test_a_crossing_lies_on_the_line_as_it_is_drawn(y_log: bool, middle: float) -> None:
    assert between([(1, 10), (16, 100)], 4, y_log=y_log) == pytest.approx(middle)
    assert between([(1, 10), (16, 100)], 17, y_log=y_log) is None


def test_a_failed_cell_is_a_gap_and_not_a_zero() -> None:
    marks = points(make_summary(failed=("w4a16", 32)), MEASURES["tpot_ms.p50"])

    assert line(marks, "w4a16") == ((1, 15.0), (4, 43.0), (16, 62.0))


def test_a_change_of_lead_carries_the_pairs_interval() -> None:
    (change,) = changes(make_summary(), MEASURES["tpot_ms.p50"])

    assert (change.before, change.after) == ("w4a8", "fp16")
    assert change.low is not None
    assert change.low < change.load < (change.high or 0)


def test_arms_never_share_both_colour_and_shape() -> None:
    drawn = signs(tuple(str(arm) for arm in range(42)))

    assert len({(sign.colour, sign.shape) for sign in drawn.values()}) == 42
