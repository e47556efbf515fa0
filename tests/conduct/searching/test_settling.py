"""What it would take to settle who leads, against every number of meetings tried one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichbits.analyze.crossings.bands import SPREAD_DF, Bands
from whichbits.analyze.crossings.decision import decide
from whichbits.conduct.searching.settling import Settling

MARGIN = 0.03
MOST = 14


def bands(mean: list[float], deviation: float = 0.02, repeats: float = 2.0) -> Bands:
    shape = np.ones(len(mean))
    return Bands(
        log_load=np.log(4.0 ** np.arange(len(mean))),
        mean=np.array(mean),
        deviation=deviation * shape,
        repeats=repeats * shape,
        df=SPREAD_DF + len(mean) * (repeats - 1),
        shared=0.0,
        curvature=0.0,
    )


def tried(known: Bands, seconds: tuple[float, float]) -> float | None:
    """The fewest seconds of meetings with two loads after which ``decide`` says anything."""

    def noisy(first: int, second: int) -> bool:
        further = np.array([first, second])
        more = replace(known, repeats=known.repeats + further, df=known.df + float(further.sum()))
        return decide(more, MARGIN).verdict == "noisy"

    found = [
        first * seconds[0] + second * seconds[1]
        for first, second in product(range(MOST), repeat=2)
        if not noisy(first, second)
    ]
    return min(found, default=None)


@settings(max_examples=40, deadline=None)
@given(
    mean=st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=2),
    deviation=st.floats(0.01, 0.06),
    dear=st.floats(1.0, 5.0),
)
def test_it_is_what_trying_every_number_of_meetings_finds(mean: list[float], deviation: float, dear: float) -> None:
    known = bands(mean, deviation)
    if decide(known, MARGIN).verdict != "noisy":
        return
    found = Settling(known, MARGIN, np.array([1.0, dear])).seconds_to_verdict()
    expected = tried(known, (1.0, dear))
    if expected is None:
        assert found is None or found >= MOST
    else:
        assert found == pytest.approx(expected, rel=0.35, abs=2 * dear)


def test_arms_that_differ_by_just_the_margin_are_settled_by_no_number_of_meetings() -> None:
    assert Settling(bands([np.log1p(MARGIN)] * 3), MARGIN, np.ones(3)).seconds_to_verdict() is None


def test_a_load_that_may_not_be_met_is_left_out_of_every_way() -> None:
    """A lead at the first load alone would do, if the second were known to be no lead of the other's."""
    known = bands([0.08, 0.0], deviation=0.05)

    assert Settling(known, MARGIN, np.array([1.0, 1.0])).seconds_to_verdict() is not None
    assert Settling(known, MARGIN, np.array([1.0, np.inf])).seconds_to_verdict() is None
