"""Histograms of what clients feel, filled a cell at a time: nothing is counted while requests are timed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from whichbits.analyze.latency.times import itl_ms, tpot_ms, ttft_ms
from whichbits.record.timelines import Floats, Timelines
from whichbits.report.prometheus.family import Sample

TTFT_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0)
TOKEN_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)

_MS_PER_S = 1e3


@dataclass(frozen=True)
class Histogram:
    """How many values lie at or below each of ``bounds_s``, and of all their number and sum in seconds."""

    bounds_s: tuple[float, ...]
    cumulative: tuple[int, ...]
    count: int
    sum_s: float

    @classmethod
    def of(cls, values_ms: Floats, bounds_s: tuple[float, ...]) -> "Histogram":
        """Count the values that exist."""
        values = np.sort(values_ms[~np.isnan(values_ms)]) / _MS_PER_S
        below = np.searchsorted(values, bounds_s, side="right")
        return cls(bounds_s, tuple(below.tolist()), values.size, float(values.sum()))

    def __add__(self, other: "Histogram") -> "Histogram":
        """Return the histogram of both one's values; the bounds are the same."""
        cumulative = tuple(mine + theirs for mine, theirs in zip(self.cumulative, other.cumulative, strict=True))
        return Histogram(self.bounds_s, cumulative, self.count + other.count, self.sum_s + other.sum_s)

    def samples(self, labels: Mapping[str, str]) -> Iterator[Sample]:
        """Yield the lines of a histogram."""
        for bound, count in zip(self.bounds_s, self.cumulative, strict=True):
            yield Sample({**labels, "le": f"{bound:g}"}, count, "_bucket")
        yield Sample({**labels, "le": "+Inf"}, self.count, "_bucket")
        yield Sample(labels, self.sum_s, "_sum")
        yield Sample(labels, self.count, "_count")


@dataclass(frozen=True)
class Latencies:
    """The three times of one arm at one load, all repeats together."""

    ttft: Histogram
    tpot: Histogram
    itl: Histogram

    @classmethod
    def of(cls, timelines: Timelines) -> "Latencies":
        """Take the requests of one cell."""
        return cls(
            Histogram.of(ttft_ms(timelines), TTFT_BOUNDS_S),
            Histogram.of(tpot_ms(timelines), TOKEN_BOUNDS_S),
            Histogram.of(itl_ms(timelines), TOKEN_BOUNDS_S),
        )

    def __add__(self, other: "Latencies") -> "Latencies":
        """Return those of both one's requests."""
        return Latencies(self.ttft + other.ttft, self.tpot + other.tpot, self.itl + other.itl)
