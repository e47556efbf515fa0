"""Behind the charts: labels never overlap, repeats are pooled, changes of lead carry their intervals."""

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.report.make_summary import make_summary
from whichbits.report.cells.measures import MEASURES
from whichbits.report.palette import signs
from whichbits.report.plots.series import Point, changes, line, points, spread, typical

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


def test_repeats_become_their_median_within_the_widest_reach_of_their_intervals() -> None:
    marks = [
        Point("a", 4, 10.0, 9.0, 11.0, trusted=True),
        Point("a", 4, 14.0, 13.0, 17.0, trusted=True),
        Point("a", 4, 90.0, 80.0, 99.0, trusted=False),
    ]

    assert typical(marks, "a") == (Point("a", 4, 12.0, 9.0, 17.0, trusted=True),)


def test_a_point_without_an_interval_or_a_second_repeat_has_no_band() -> None:
    assert typical([Point("a", 4, 10.0, None, None, trusted=True)], "a")[0].low is None


def test_an_answer_that_says_where_either_arm_may_lead_shades_just_that() -> None:
    summary = make_summary()
    told = replace(summary.recommendation[0], uncertain=((4.5, 6.5),))

    (change,) = changes(replace(summary, recommendation=(told,)), MEASURES["tpot_ms.p50"])

    assert (change.low, change.high) == (4.5, 6.5)


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
