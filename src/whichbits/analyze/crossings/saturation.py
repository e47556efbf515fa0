"""From which load on an arm is over-saturated: it gives no more tokens, only more waiting."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from whichbits.analyze.cells.noise import variance
from whichbits.analyze.crossings.bands import SPREAD
from whichbits.analyze.crossings.pairing import Resampled
from whichbits.analyze.curves.load_curves import why_unusable
from whichbits.analyze.summary import CellSummary, Metric

FLAT = 0.1
"""Slope of log throughput over log load below which an arm gives no more: twice the load for 7 % more tokens."""

STEEP = 0.5
"""Slope of log E2E over log load above which users wait for it."""

_Z = 1.645


def over_saturated_from(cells: Sequence[CellSummary], arm: str, resampled: Resampled) -> int | None:
    """Return the lowest concurrency of ``arm`` that bought waiting only, None if none is shown to.

    Between it and the load before, throughput rises by less than ``FLAT`` and median E2E by more than ``STEEP``, both
    by one-sided 95 % bounds of their slopes; and no higher load gives more after all, as one does if a cell was slow.
    """
    loads = sorted({cell.concurrency for cell in cells if _tells(cell, arm) and cell.concurrency is not None})
    for before, load in pairwise(loads):
        step = float(np.log(load / before))
        work, work_error = _change(cells, arm, resampled, "output_tokens_per_s", (before, load))
        wait, wait_error = _change(cells, arm, resampled, "e2e_ms.p50", (before, load))
        flat = work + _Z * work_error < FLAT * step
        if flat and wait - _Z * wait_error > STEEP * step and not _rises_later(cells, arm, resampled, before):
            return load
    return None


def _rises_later(cells: Sequence[CellSummary], arm: str, resampled: Resampled, load: int) -> bool:
    later = {cell.concurrency for cell in cells if _tells(cell, arm) and (cell.concurrency or 0) > load}
    rises = (
        (_change(cells, arm, resampled, "output_tokens_per_s", (load, each))[0], np.log(each / load))
        for each in later
        if each is not None
    )
    return any(rise > FLAT * step for rise, step in rises)


def _change(
    cells: Sequence[CellSummary], arm: str, resampled: Resampled, metric: Metric, loads: tuple[int, int]
) -> tuple[float, float]:
    """Return by how much ln(metric) changes between two loads, and its standard error."""
    means, variances = [], []
    for load in loads:
        mine = [cell for cell in cells if _tells(cell, arm) and cell.concurrency == load]
        logs = np.array([_log(cell, metric) for cell in mine])
        means.append(logs.mean())
        variances.append(_noise(mine, metric, resampled) / logs.size)
    return float(means[1] - means[0]), float(np.sqrt(sum(variances)))


def _noise(cells: Sequence[CellSummary], metric: Metric, resampled: Resampled) -> float:
    """Return the variance of ln(metric) in one of the cells: what repeats and what requests leave open."""
    logs = (resampled.get(cell.cell, {}).get(metric) for cell in cells)
    known = [value for each in logs if each is not None and not np.isnan(value := variance(each))]
    return SPREAD**2 + (float(np.mean(known)) if known else 0.0)


def _log(cell: CellSummary, metric: Metric) -> float:
    value = cell.output_tokens_per_s if metric == "output_tokens_per_s" else cell.e2e_ms.p50
    return float(np.log(value)) if value else float("nan")


def _tells(cell: CellSummary, arm: str) -> bool:
    return (
        cell.arm == arm
        and cell.request_rate is None
        and why_unusable(cell) is None
        and bool(cell.output_tokens_per_s)
        and bool(cell.e2e_ms.p50)
    )
