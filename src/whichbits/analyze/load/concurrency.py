"""How many requests were in flight, and when: the peak, the mean, and the level at each moment.

A request is in flight from its send until it finished, the end excluded.
"""

from typing import NamedTuple

import numpy as np

from whichbits.record.timelines import Booleans, Floats, Ints, Timelines


class Window(NamedTuple):
    """A stretch of time in ns; ``start_ns`` is outside it, ``end_ns`` inside."""

    start_ns: float
    end_ns: float

    @property
    def seconds(self) -> float:
        """Return its length."""
        return (self.end_ns - self.start_ns) / 1e9

    def holds(self, time_ns: Floats | Ints) -> Booleans:
        """Say for each time whether it lies inside; NaN does not."""
        inside: Booleans = (time_ns > self.start_ns) & (time_ns <= self.end_ns)
        return inside


class Sweep(NamedTuple):
    """Requests in flight from each event on, in order of time; the last level is 0."""

    time_ns: Floats
    in_flight: Ints


def sweep(timelines: Timelines) -> Sweep:
    """Walk through all sends and finishes; at one instant, requests end before others start."""
    flown = ~(np.isnan(timelines.sent_ns) | np.isnan(timelines.finished_ns))
    starts, ends = timelines.sent_ns[flown], timelines.finished_ns[flown]
    times = np.concatenate([starts, ends])
    steps = np.concatenate([np.ones(starts.size, np.int64), -np.ones(ends.size, np.int64)])
    order = np.lexsort((steps, times))
    return Sweep(times[order], np.cumsum(steps[order]))


def peak_concurrency(timelines: Timelines) -> int | None:
    """Return the most requests in flight at any moment; None if none was sent."""
    in_flight = sweep(timelines).in_flight
    return int(in_flight.max()) if in_flight.size else None


def mean_concurrency(timelines: Timelines) -> float | None:
    """Return the requests in flight averaged over the time from the first send to the last finish; None if none."""
    flight = sweep(timelines)
    if flight.time_ns.size == 0 or flight.time_ns[-1] == flight.time_ns[0]:
        return None
    return float(mean_levels(flight, flight.time_ns[[0, -1]])[0])


def mean_levels(flight: Sweep, edges_ns: Floats) -> Floats:
    """Return the level averaged over time between each two neighbouring edges."""
    request_ns = np.concatenate([[0.0], np.cumsum(flight.in_flight[:-1] * np.diff(flight.time_ns))])
    # At one instant several events may lie: the integral does not move between them.
    levels: Floats = np.diff(np.interp(edges_ns, flight.time_ns, request_ns)) / np.diff(edges_ns)
    return levels


def bucketed_peak(timelines: Timelines, bucket_s: float = 1.0) -> int | None:
    """Return the most requests that touched one bucket of time: what vLLM and SGLang print as peak concurrency.

    A bucket counts all that was in flight at any moment of it, one after the other included. So it exceeds the true
    peak, by about the number of requests that end within a bucket, and the faster arm shows the higher one.
    """
    flown = ~(np.isnan(timelines.sent_ns) | np.isnan(timelines.finished_ns))
    if not flown.any():
        return None
    sent, finished = timelines.sent_ns[flown], timelines.finished_ns[flown]
    first = ((sent - sent.min()) // (bucket_s * 1e9)).astype(np.int64)
    last = ((finished - sent.min()) // (bucket_s * 1e9)).astype(np.int64)
    buckets = int(last.max()) + 2
    return int(np.cumsum(np.bincount(first, minlength=buckets) - np.bincount(last + 1, minlength=buckets)).max())
