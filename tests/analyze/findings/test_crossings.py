"""Crossings as findings: what no draw was taken of has no intervals, and noise is settled by so many repeats."""

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


def test_a_crossing_that_may_lie_anywhere_is_said_without_a_load() -> None:
    crossing = Crossover(
        metric="tpot_ms.p50",
        arms=("a", "b"),
        verdict="crosses",
        crossings=(Crossing(1.5, 1.0, 100.0),),
        leader_low_load="b",
        leader_high_load="a",
        load_unit="concurrency",
        loads=(1.0, 10.0, 100.0),
        ratios=(1.1, 0.9, 0.8),
    )

    (found,) = crossings(Observed(manifest(), (), (crossing,)))

    assert "a passes b at a load not placed within 1 to 100" in found.text


@pytest.mark.parametrize(
    ("needed", "settled_by"),
    [
        ((1,), "1 more repeat of the study"),
        ((2, 5), "5 more repeats of the study"),
        ((2, None), "2 more repeats of the study"),
        ((None,), "longer cells, or a quieter machine"),
    ],
)
def test_noise_is_settled_by_as_many_repeats_as_the_noisiest_pair_needs(
    needed: tuple[int | None, ...], settled_by: str
) -> None:
    noisy = [
        Crossover(
            metric="tpot_ms.p50",
            arms=("a", f"b{at}"),
            verdict="noisy",
            crossings=(),
            leader_low_load=None,
            leader_high_load=None,
            load_unit="concurrency",
            loads=(1.0,),
            ratios=(0.8,),
            ratio_intervals=((0.5, 1.3),),
            repeats_needed=more,
        )
        for at, more in enumerate(needed)
    ]

    (found,) = crossings(Observed(manifest(cells=[]), (), crossovers=noisy))

    assert found.settled_by == settled_by
