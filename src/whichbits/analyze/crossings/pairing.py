"""The log-ratios of two arms, cell by cell, aligned at the same load or at the same share of each arm's capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whichbits.analyze.cells.noise import Replicates, variance
from whichbits.analyze.crossings.bands import LogRatios
from whichbits.analyze.curves.load_curves import AxisUnit, comparable, has_no_goodput, load_of
from whichbits.analyze.curves.meaning import meaning
from whichbits.analyze.summary import CellSummary, Metric
from whichbits.record.timelines import Floats

Resampled = Mapping[int, Replicates]
"""By number of the cell."""

Placed = dict[tuple[float, int], CellSummary]


@dataclass(frozen=True)
class Compared:
    """The cells of a study on one axis, with what their requests leave open."""

    cells: Sequence[CellSummary]
    unit: AxisUnit
    resampled: Resampled

    def of_arm(self, arm: str) -> Sequence[CellSummary]:
        """Return the arm's cells."""
        return self._by_arm.get(arm, ())

    @cached_property
    def _by_arm(self) -> dict[str, list[CellSummary]]:
        found: dict[str, list[CellSummary]] = {}
        for cell in self.cells:
            found.setdefault(cell.arm, []).append(cell)
        return found

    def placed(self, arm: str, metric: Metric) -> Placed:
        """Return the arm's cells that may be compared, by load and repeat."""
        if (arm, metric) not in self._placed:
            self._placed[arm, metric] = {
                (load, cell.repeat): cell
                for cell in self.of_arm(arm)
                if (load := load_of(cell, self.unit)) is not None and comparable(cell, metric)
            }
        return self._placed[arm, metric]

    @cached_property
    def _placed(self) -> dict[tuple[str, Metric], Placed]:
        """What was asked for: each arm is compared with every other one."""
        return {}

    def logs(self, cell: CellSummary, metric: Metric) -> Floats | None:
        """Return the cell's resampled logarithms of the metric, up to their sign, if it was resampled."""
        if metric == "cost_per_million_tokens":  # a price over the throughput
            metric = "output_tokens_per_s"
        return self.resampled.get(cell.cell, {}).get(metric)


def same_load(compared: Compared, arms: tuple[str, str], metric: Metric) -> LogRatios:
    """Pair cells of equal load and repeat; equal requests are resampled together.

    Cells of one repeat share what a start of their servers shifts; of a search's cells, those of one block do.
    """
    first, second = _of_one_meaning(compared, arms, metric)
    # Where neither arm has a good request, there is nothing to compare.
    shared = sorted(
        place
        for place in set(first) & set(second)
        if not (has_no_goodput(first[place], metric) and has_no_goodput(second[place], metric))
    )
    column = {place: _column(first[place]) for place in shared}
    loads, columns = sorted({load for load, _ in shared}), sorted(set(column.values()))
    values, variances = (np.full((len(loads), len(columns)), np.nan) for _ in range(2))
    for load, repeat in shared:
        at = loads.index(load), columns.index(column[load, repeat])
        one, other = first[load, repeat], second[load, repeat]
        values[at] = np.log(comparable(one, metric) or np.nan) - np.log(comparable(other, metric) or np.nan)
        logs, others = compared.logs(one, metric), compared.logs(other, metric)
        if logs is not None and others is not None:
            variances[at] = variance(logs - others)
    return LogRatios(np.log(np.array(loads)), values, variances, apart=1 < len(columns) == len(shared))


def _column(cell: CellSummary) -> int:
    return cell.repeat if cell.block is None else cell.block


def _of_one_meaning(compared: Compared, arms: tuple[str, str], metric: Metric) -> tuple[Placed, Placed]:
    """Return both arms' cells, or none if the tools that measured them define the metric differently."""
    first, second = (compared.placed(arm, metric) for arm in arms)
    meanings = {meaning(cell, metric.partition(".")[0]) for cell in (*first.values(), *second.values())}
    return (first, second) if len(meanings) <= 1 else ({}, {})


def same_share_of_capacity(compared: Compared, arms: tuple[str, str], metric: Metric) -> LogRatios:
    """Compare arms where each is loaded to the same share of its own highest output throughput.

    Each arm is read off between its loads, linear in the log of the share, at as many shares as the arm with fewer
    loads has up to its peak. Different loads met different requests, so there is no pairing; the shares themselves
    are taken as exact.
    """
    if not all(_of_one_meaning(compared, arms, metric)):
        return LogRatios(np.empty(0), np.empty((0, 0)), np.empty((0, 0)))
    curves = [_by_share(compared, arm, metric) for arm in arms]
    count = min(curve.log_share.size for curve in curves)
    if count < 2:
        return LogRatios(np.empty(0), np.empty((0, 0)), np.empty((0, 0)))
    lowest = max(curve.log_share[0] for curve in curves)
    grid = np.linspace(lowest, 0.0, count)
    repeats = min(curve.values.shape[1] for curve in curves)
    first, second = (_read_off(curve, grid, repeats) for curve in curves)
    return LogRatios(grid, first.values - second.values, first.variances + second.variances)


@dataclass(frozen=True)
class _ShareCurve:
    log_share: Floats
    values: Floats
    variances: Floats


def _by_share(compared: Compared, arm: str, metric: Metric) -> _ShareCurve:
    """Return the arm's loads up to its peak, as log shares of it, with ln(metric), shape (loads, repeats)."""
    work, placed = compared.placed(arm, "output_tokens_per_s"), compared.placed(arm, metric)
    repeats = _repeats_of_all(placed)
    loads = [load for load in sorted({load for load, _ in placed}) if all((load, r) in placed for r in repeats)]
    loads = [load for load in loads if all((load, repeat) in work for repeat in repeats)]
    pace = np.array([np.mean([np.log(work[load, r].output_tokens_per_s or 0) for r in repeats]) for load in loads])
    rising = [at for at in range(len(loads)) if at == 0 or pace[at] > pace[:at].max()]
    cells = [[placed[loads[at], repeat] for repeat in repeats] for at in rising]
    values = np.array([[np.log(comparable(cell, metric) or np.nan) for cell in row] for row in cells])
    variances = np.array([[_variance(compared, cell, metric) for cell in row] for row in cells])
    shape = (len(rising), len(repeats))
    return _ShareCurve(pace[rising] - pace.max(initial=-np.inf), values.reshape(shape), variances.reshape(shape))


def _repeats_of_all(placed: Placed) -> list[int]:
    """Return the repeats that every load has, as a search meets loads unequally often; all where none is common."""
    by_load = [{repeat for other, repeat in placed if other == load} for load in {load for load, _ in placed}]
    common = set.intersection(*by_load) if by_load else set()
    return sorted(common or {repeat for _, repeat in placed})


def _variance(compared: Compared, cell: CellSummary, metric: Metric) -> float:
    logs = compared.logs(cell, metric)
    return float("nan") if logs is None else variance(logs)


def _read_off(curve: _ShareCurve, grid: Floats, repeats: int) -> _ShareCurve:
    weights = np.array([np.interp(grid, curve.log_share, unit) for unit in np.eye(curve.log_share.size)]).T
    return _ShareCurve(grid, weights @ curve.values[:, :repeats], weights**2 @ curve.variances[:, :repeats])
