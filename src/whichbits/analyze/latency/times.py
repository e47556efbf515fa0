"""Times that a client feels, each with its one formula; arrays have one entry a request, NaN for none.

A failed request has no latency: its times would tell of the failure, not of the arm.
"""

from dataclasses import dataclass

import numpy as np

from whichbits.analyze.statistics.quantiles import quantiles
from whichbits.record.timelines import Floats, Timelines

NS_PER_MS = 1e6
SAMPLES_BEYOND = 10
"""A percentile with fewer samples beyond it is thin: a handful of requests decides it."""


@dataclass(frozen=True)
class Distribution:
    """A sample of times; percentiles interpolate linearly. ``thin`` names those with < 10 samples beyond."""

    n: int
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    thin: tuple[str, ...] = ()


def ttft_ms(timelines: Timelines) -> Floats:
    """Time to first token: first content chunk - scheduled send, so that a late send counts."""
    return _of_succeeded(timelines, timelines.first_chunk_ns - timelines.scheduled_ns)


def ttft_from_send_ms(timelines: Timelines) -> Floats:
    """Time to first token as the server caused it: first content chunk - actual send."""
    return _of_succeeded(timelines, timelines.first_chunk_ns - timelines.sent_ns)


def tpot_ms(timelines: Timelines) -> Floats:
    """Time per output token: (last chunk - first chunk) / (n - 1), n its output tokens.

    NaN for n < 2, for unknown n, and for an answer in one chunk or one read: no time between tokens was seen.
    """
    seen_ns = timelines.last_chunk_ns - timelines.first_chunk_ns
    defined = (timelines.output_tokens >= 2) & (seen_ns > 0)
    steps = np.where(defined, timelines.output_tokens - 1, np.nan)
    return _of_succeeded(timelines, seen_ns / steps)


def e2e_ms(timelines: Timelines) -> Floats:
    """End to end: last content chunk - scheduled send."""
    return _of_succeeded(timelines, timelines.last_chunk_ns - timelines.scheduled_ns)


def e2e_from_send_ms(timelines: Timelines) -> Floats:
    """End to end as other tools count it: last content chunk - actual send."""
    return _of_succeeded(timelines, timelines.last_chunk_ns - timelines.sent_ns)


def send_wait_ms(timelines: Timelines) -> Floats:
    """Wait before the send: actual send - scheduled send, of every request that was sent, good or not."""
    return (timelines.sent_ns - timelines.scheduled_ns) / NS_PER_MS


def itl_ms(timelines: Timelines) -> Floats:
    """Inter-token latency, pooled: the gaps between content chunks; a chunk of k tokens ends one gap."""
    ends = timelines.gap_ends
    gaps: Floats = (timelines.chunk_ns[ends] - timelines.chunk_ns[ends - 1]) / NS_PER_MS
    return gaps


def excluded_from_tpot(timelines: Timelines) -> int:
    """Count requests that succeeded but have no TPOT."""
    return int(np.count_nonzero(timelines.succeeded & np.isnan(tpot_ms(timelines))))


def distribution(values_ms: Floats) -> Distribution:
    """Summarise the values that exist; percentiles interpolate linearly between order statistics."""
    values = values_ms[~np.isnan(values_ms)]
    thin = tuple(f"p{percent}" for percent in (50, 90, 99) if is_thin(values.size, percent))
    if values.size == 0:
        return Distribution(0, None, None, None, None, thin)
    p50, p90, p99 = quantiles(np.sort(values), np.array([50, 90, 99]) / 100).tolist()
    return Distribution(values.size, float(values.mean()), p50, p90, p99, thin)


def is_thin(samples: int, percent: int) -> bool:
    """Say whether fewer than ten samples lie beyond a percentile: p50 needs 20, p90 100, p99 1000."""
    return samples * (100 - percent) < SAMPLES_BEYOND * 100


def _of_succeeded(timelines: Timelines, duration_ns: Floats) -> Floats:
    return np.where(timelines.succeeded, duration_ns, np.nan) / NS_PER_MS
