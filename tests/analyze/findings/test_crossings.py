"""Crossings as findings: a prediction of what no draw was taken of has ratios and no intervals."""

import pytest

from tests.record.make_run import manifest
from whichbits.analyze.findings.crossings import crossings
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Crossing, Crossover

Intervals = tuple[tuple[float, float], ...]


@pytest.mark.parametrize(
    ("intervals", "evidence"),
    [
        (((0.7, 0.9), (1.1, 1.3)), "a / b: 0.80 (0.70 to 0.90) at 1, 1.20 (1.10 to 1.30) at 8"),
        ((), "a / b: 0.80 at 1, 1.20 at 8"),
    ],
)
def test_ratios_are_told_with_the_intervals_that_there_are(intervals: Intervals, evidence: str) -> None:
    crossing = Crossover(
        metric="goodput_requests_per_s",
        arms=("a", "b"),
        verdict="crosses",
        crossings=(Crossing(3.0, None, None),),
        leader_low_load="b",
        leader_high_load="a",
        load_unit="concurrency",
        loads=(1.0, 8.0),
        ratios=(0.8, 1.2),
        ratio_intervals=intervals,
    )

    (found,) = crossings(Observed(manifest(), (), (crossing,)))

    assert found.evidence == (evidence,)
