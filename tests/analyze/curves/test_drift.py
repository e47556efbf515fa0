"""A machine that drifts is told from one that is merely noisy, and from loads that differ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.analyze.make_cell import summary
from whichbits.analyze.curves.drift import drift, drifts
from whichbits.analyze.summary import CellSummary

MINUTE_NS = 60 * 10**9


def study(per_hour: float, noise: float, seed: int = 0, repeats: int = 6) -> tuple[list[CellSummary], dict[int, int]]:
    """Two arms that meet two loads so often, a cell a minute; ln(TPOT) rises by so much an hour."""
    rng = np.random.default_rng(seed)
    cells: list[CellSummary] = []
    started: dict[int, int] = {}
    for repeat in range(repeats):
        for arm, load in (("a", 1), ("b", 1), ("a", 64), ("b", 64)):
            number = len(cells)
            log = np.log(load + 10) + per_hour * number / 60 + rng.normal(0, noise)
            cells.append(replace(summary(arm, load, float(np.exp(log)), repeat), cell=number))
            started[number] = number * MINUTE_NS
    return cells, started


def test_a_drift_is_found_with_its_size() -> None:
    cells, started = study(per_hour=0.3, noise=0.002)
    found = drift(cells, started)

    assert found is not None
    assert found.change == pytest.approx(0.3 * 23 / 60, rel=0.05)
    assert found.low < 0.3 * 23 / 60 < found.high
    (said,) = drifts(cells, started)
    assert said.code == "drift"
    assert "slower" in said.text
    assert [line.partition(":")[0] for line in said.evidence] == ["a", "b"]


def test_the_interval_is_that_of_a_regression() -> None:
    """One arm at one load: scipy's own line."""
    cells, started = study(per_hour=0.1, noise=0.02, repeats=9)
    mine = [cell for cell in cells if (cell.arm, cell.concurrency) == ("a", 1)]
    hours = np.array([started[cell.cell] / 3.6e12 for cell in mine])
    line = stats.linregress(hours, np.log([cell.tpot_ms.p50 or 0.0 for cell in mine]))
    found = drift(mine, started)

    assert found is not None
    assert found.change == pytest.approx(line.slope * np.ptp(hours))
    reach = stats.t.ppf(0.975, len(mine) - 2) * line.stderr * np.ptp(hours)
    assert (found.high - found.change, found.change - found.low) == pytest.approx((reach, reach), rel=1e-3)


def test_noise_alone_is_seldom_taken_for_a_drift() -> None:
    claims = sum(bool(list(drifts(*study(per_hour=0.0, noise=0.03, seed=seed)))) for seed in range(200))

    assert claims <= 20


def test_a_drift_too_small_to_matter_is_not_told() -> None:
    assert not list(drifts(*study(per_hour=0.01, noise=1e-6)))


def test_without_repeats_nothing_is_known() -> None:
    assert drift(*study(per_hour=0.3, noise=0.0, repeats=1)) is None
    assert drift([], {}) is None
