"""One cell as its engines saw it: times by stage from their histograms, and how full they were."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whichbits.analyze.engine.books import engine_total
from whichbits.analyze.engine.counted import CellCounts
from whichbits.serve.metrics import Timed
from whichbits.serve.metrics.histogram import Histogram, Quantile, added
from whichbits.serve.metrics.rates import Level, level, pace, usage

_TIMES: Mapping[str, Timed] = {
    "engine_queue_ms": "queue",
    "engine_prefill_ms": "prefill",
    "engine_decode_ms": "decode",
    "engine_ttft_ms": "ttft",
    "engine_itl_ms": "itl",
}


@dataclass(frozen=True)
class Estimate:
    """A quantile from buckets: the sample lies above ``low``, at or below ``high``; ``value`` interpolates.

    ``value`` and ``high`` are None if it lies above the last bucket's bound.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class EngineTimes:
    """Times that engines observed; the mean is exact, the quantiles have their bucket error."""

    n: int
    mean: float | None
    p50: Estimate
    p99: Estimate


@dataclass(frozen=True)
class EngineLevel:
    """An engine's state over ``n`` scrapes during a cell."""

    peak: float
    mean: float
    n: int


def engine_view(counts: CellCounts) -> dict[str, Any]:
    """Return the keys of a cell summary that only engines can fill, over all replicas together."""
    engines = [counted.total for counted in counts.values()]
    series = {replica: counted.during for replica, counted in counts.items()}
    queries, hits = (
        [getattr(engine, name) for engine in engines] for name in ("prefix_query_tokens", "prefix_hit_tokens")
    )
    return {
        **{key: engine_times(counts, timed) for key, timed in _TIMES.items()},
        "requests_running": _level(level(series, "requests_running")),
        "requests_waiting": _level(level(series, "requests_waiting")),
        "kv_cache_usage": _level(usage(series)),
        "engine_output_tokens_per_s": _level(pace(series)),
        "preemptions": engine_total(engines, "preemptions"),
        "prefix_queries": None if None in queries or not queries else sum(queries),
        "prefix_hits": None if None in hits or not hits else sum(hits),
    }


def engine_times(counts: CellCounts, timed: Timed) -> EngineTimes | None:
    """Return a stage's times in ms; None if a replica does not tell it, or nothing was observed."""
    told = [counted.histograms[timed] for counted in counts.values() if timed in counted.histograms]
    together = added(told) if len(told) == len(counts) else None
    return None if together is None or not together.count else _times(together)


def _times(histogram: Histogram) -> EngineTimes:
    mean = histogram.mean
    return EngineTimes(
        n=round(histogram.count),
        mean=None if mean is None else mean * 1e3,
        p50=_estimate(histogram.quantile(0.5)),
        p99=_estimate(histogram.quantile(0.99)),
    )


def _estimate(quantile: Quantile | None) -> Estimate:
    if quantile is None:
        return Estimate(None, None, None)
    value, high = quantile.value, quantile.high
    return Estimate(None if value is None else value * 1e3, quantile.low * 1e3, None if high is None else high * 1e3)


def _level(found: Level | None) -> EngineLevel | None:
    return None if found is None else EngineLevel(found.peak, found.mean, found.n)
