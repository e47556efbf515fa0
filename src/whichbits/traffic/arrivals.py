"""When requests are to leave: offsets from a cell's start for each pattern of arrivals, and how long it takes.

Gaps of mean 1 are drawn and summed to *counts*; a count becomes a time by the pattern's rate. Nothing is rescaled so
that the last request leaves at count / rate (vLLM's ``bench serve`` does that): Poisson is a Poisson process.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from whichbits.study.arrivals import (
    AnyArrivals,
    ConstantArrivals,
    GammaArrivals,
    PoissonArrivals,
    RampArrivals,
    StagesArrivals,
    TraceArrivals,
)
from whichbits.study.model import CellSize, Load
from whichbits.traffic.draws import Draws, Floats

_NS = 1e9


def request_count(size: CellSize, load: Load, arrivals: AnyArrivals | None = None) -> int:
    """Return how many requests a cell at ``load`` sends; stages send what they come to, unless ``requests`` says."""
    if size.requests is not None:
        return size.requests
    if isinstance(arrivals, StagesArrivals) and load.request_rate is not None:
        return max(1, round(load.request_rate * _seconds_at_full_rate(arrivals)))
    wanted = load.request_rate * size.seconds if load.request_rate else size.per_stream * (load.concurrency or 1)
    return round(min(max(wanted, size.at_least), size.at_most))


def drawn_offsets_ns(arrivals: AnyArrivals, draws: Draws, rate: float, count: int) -> list[int]:
    """Return ``count`` offsets in nanoseconds, in order, for a mean of ``rate`` requests per second."""
    counts = np.cumsum(_gaps(arrivals, draws, count))
    return [int(offset) for offset in _TIMES[type(arrivals)](arrivals, counts, rate, count) * _NS]


def _gaps(arrivals: AnyArrivals, draws: Draws, count: int) -> Floats:
    """Return gaps of mean 1."""
    match arrivals:
        case ConstantArrivals():
            return np.ones(count)
        case GammaArrivals() | RampArrivals() | StagesArrivals():
            return draws.gamma(arrivals.burstiness, count)
        case PoissonArrivals() | TraceArrivals():
            return draws.exponential(count)


def _steady(arrivals: AnyArrivals, counts: Floats, rate: float, count: int) -> Floats:  # noqa: ARG001 - as the others
    return counts / rate


def _ramp(arrivals: RampArrivals, counts: Floats, rate: float, count: int) -> Floats:
    """Solve rate x (start t + (end - start) t² / 2T) = counts, where T is when ``count`` are expected.

    Whatever comes after T comes at the mean rate: a ramp to 0 would never end otherwise.
    """
    mean = (arrivals.start + arrivals.end) / 2
    ends = count / (rate * mean)
    within = np.minimum(counts, count) / rate
    curve = (arrivals.end - arrivals.start) / (2 * ends)
    root = np.sqrt(np.maximum(arrivals.start**2 + 4 * curve * within, 0.0))
    times: Floats = 2 * within / np.maximum(arrivals.start + root, 1e-300)
    return times + np.maximum(counts - count, 0) / (rate * mean)


def _stages(arrivals: StagesArrivals, counts: Floats, rate: float, count: int) -> Floats:  # noqa: ARG001
    """Run along the steps of the cumulative rate, again from the first after the last."""
    shares, seconds = (
        np.array(column) for column in zip(*((s.share, s.seconds) for s in arrivals.stages), strict=True)
    )
    reached = np.concatenate([[0.0], np.cumsum(shares * seconds)]) * rate
    times = np.concatenate([[0.0], np.cumsum(seconds)])
    rounds = np.floor(counts / reached[-1])
    # A last request that is due exactly at a round's end belongs to it.
    rounds = np.where((counts > 0) & (counts == rounds * reached[-1]), rounds - 1, rounds)
    ends: Floats = rounds * times[-1] + np.interp(counts - rounds * reached[-1], reached, times)
    return ends


def _seconds_at_full_rate(arrivals: StagesArrivals) -> float:
    return sum(stage.share * stage.seconds for stage in arrivals.stages)


_TIMES: dict[type[AnyArrivals], Callable[[Any, Floats, float, int], Floats]] = {
    ConstantArrivals: _steady,
    PoissonArrivals: _steady,
    GammaArrivals: _steady,
    RampArrivals: _ramp,
    StagesArrivals: _stages,
}
