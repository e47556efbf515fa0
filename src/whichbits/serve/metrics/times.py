"""Mean and percentiles of the times that engines keep histograms of, for `inspect`."""

from collections.abc import Mapping
from typing import Any

from whichbits.serve.metrics import Exposition, Timed
from whichbits.serve.metrics.histogram import Histogram, read_histogram

_TIMED: tuple[Timed, ...] = ("ttft", "itl", "tpot", "e2e", "queue", "prefill", "decode")
_PERCENTILES: Mapping[str, float] = {"p50": 0.5, "p99": 0.99}
_MS = 1e3


def times_of(found: Exposition) -> dict[str, dict[str, Any]]:
    """Return the times of each stage under ``STAGE_ms``; stages that nothing was counted of are absent.

    Each has ``n``, ``mean`` (exact: sum / count) and, of p50 and p99, the value interpolated in its bucket and
    ``_low`` and ``_high``, between which the true one lies (the bucket's bounds, see ``Histogram.quantile``).
    """
    read = ((f"{timed}_ms", read_histogram(found, timed)) for timed in _TIMED)
    return {name: _times(histogram) for name, histogram in read if histogram is not None and histogram.count}


def _times(histogram: Histogram) -> dict[str, Any]:
    times: dict[str, Any] = {"n": round(histogram.count), "mean": _in_ms(histogram.mean)}
    for name, share in _PERCENTILES.items():
        quantile = histogram.quantile(share)
        value, low, high = (None, None, None) if quantile is None else (quantile.value, quantile.low, quantile.high)
        times |= {name: _in_ms(value), f"{name}_low": _in_ms(low), f"{name}_high": _in_ms(high)}
    return times


def _in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _MS
