"""What the requests of a cell leave open: every metric of it, resampled."""

import zlib
from collections.abc import Mapping
from typing import cast

import numpy as np
import pyarrow as pa

from whichbits.analyze.curves.load_curves import HALF_A_REQUEST, value_of
from whichbits.analyze.latency.throughput import good
from whichbits.analyze.latency.times import e2e_ms, itl_ms, tpot_ms, ttft_ms
from whichbits.analyze.statistics.resample import Weights, draw, means, percentiles, pooled_percentiles, widened
from whichbits.analyze.summary import CellSummary, Metric
from whichbits.record.arrays import integers
from whichbits.record.schema import Cell
from whichbits.record.timelines import Floats, Timelines
from whichbits.study.model import Slo

Replicates = Mapping[Metric, Floats]
"""ln(metric) in each resample of one cell; a resample that leaves it unknown is NaN."""

_Z = 1.96


def replicates(
    cell: Cell, requests: pa.Table, slo: Slo | None = None, timelines: Timelines | None = None
) -> Replicates:
    """Resample one cell; cells of one load and repeat draw the same requests, whatever their arm.

    ``timelines`` are those of ``requests``, where somebody has them already.
    What a predicted cell leaves open are the predictor's constants, of which all its cells took the same draws.
    """
    if cell.draws:
        return {cast("Metric", address): _logs(np.array(values)) for address, values in cell.draws.items()}
    if requests.num_rows < 2:
        return {}
    timelines = _in_order(requests, timelines)
    weights = draw(len(timelines), _seed(cell))
    with np.errstate(divide="ignore", invalid="ignore"):
        # A resample may hold failed requests only: no time, no work.
        found = _latencies(timelines, weights) | _work(cell, timelines, weights, slo)
    return dict(zip(found, widened(_logs(np.array([*found.values()])), len(timelines)), strict=True))


def _in_order(requests: pa.Table, timelines: Timelines | None) -> Timelines:
    """Return the requests by their index, as they lie in nearly every file."""
    index = integers(requests["index"])
    if (np.diff(index) > 0).all():
        return Timelines.of(requests) if timelines is None else timelines
    return Timelines.of(requests.sort_by("index"))


def intervals(cell: CellSummary, resampled: Replicates) -> dict[str, tuple[float, float]]:
    """Return a 95 % interval around each metric: normal in its logarithm, as wide as resampling says."""
    found: dict[str, tuple[float, float]] = {}
    for metric, logs in resampled.items():
        value, reach = value_of(cell, metric), _Z * np.sqrt(variance(logs))
        if value is not None and value > 0 and np.isfinite(reach):
            found[metric] = (value * float(np.exp(-reach)), value * float(np.exp(reach)))
    return found


def variance(logs: Floats) -> float:
    """Return the variance of resampled logarithms; NaN if fewer than half of the resamples know the value."""
    known = logs[~np.isnan(logs)]
    return float(known.var()) if known.size * 2 >= logs.size else float("nan")


def _logs(values: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values)
    return np.where(np.isfinite(logs), logs, np.nan)


def _seed(cell: Cell) -> int:
    return zlib.crc32(f"{cell.concurrency} {cell.request_rate} {cell.repeat}".encode())


def _latencies(timelines: Timelines, weights: Weights) -> dict[Metric, Floats]:
    tpot, ttft, e2e = tpot_ms(timelines), ttft_ms(timelines), e2e_ms(timelines)
    found: dict[Metric, Floats] = {"tpot_ms.mean": means(tpot, weights)}
    found["tpot_ms.p50"], found["tpot_ms.p90"], found["tpot_ms.p99"] = percentiles(tpot, weights, (50, 90, 99))
    found["ttft_ms.p50"], found["ttft_ms.p90"], found["ttft_ms.p99"] = percentiles(ttft, weights, (50, 90, 99))
    found["e2e_ms.p50"], found["e2e_ms.p99"] = percentiles(e2e, weights, (50, 99))
    gaps, owners = itl_ms(timelines), timelines.request_of_chunk[timelines.gap_ends]
    found["itl_ms.p50"], found["itl_ms.p99"] = pooled_percentiles(gaps, owners, weights, (50, 99))
    return found


def _work(cell: Cell, timelines: Timelines, weights: Weights, slo: Slo | None) -> dict[Metric, Floats]:
    """Return work per second up to a constant factor.

    In a closed loop the time of the cell is the time of its requests over the streams. In an open one the arrivals
    set the time, alike for both arms: what is left open there is not which requests came.
    """
    closed = cell.request_rate is None
    spent = np.nan_to_num(timelines.finished_ns - timelines.sent_ns) if closed else np.ones(len(timelines))
    tokens = np.where(timelines.succeeded, np.nan_to_num(timelines.output_tokens), 0.0)
    time = weights @ spent
    time = np.where(time > 0, time, np.nan)  # a resample may draw only requests that never left
    found: dict[Metric, Floats] = {"output_tokens_per_s": (weights @ tokens) / time} if closed else {}
    if slo is not None:
        found["goodput_requests_per_s"] = _good_requests(cell, good(timelines, slo).astype(np.float64), weights) / time
    return found


def _good_requests(cell: Cell, held: Floats, weights: Weights) -> Floats:
    """Return how many requests of each resample are good, at least half a one.

    None at all leaves nothing to resample: then half a request, give or take a factor of e. Twice that, 3.7, is just
    above the 3 that a count of none rules out with 95 %.
    """
    if held.any():
        return np.maximum(weights @ held, HALF_A_REQUEST)
    return np.asarray(HALF_A_REQUEST * np.random.default_rng(_seed(cell)).lognormal(0, 1, len(weights)))
