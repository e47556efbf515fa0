"""How many requests were in flight, and when: the peak, and the stretch in which the load held steady.

A request is in flight from its send until it finished, the end excluded.
"""

from typing import NamedTuple

import numpy as np

from whichbits.record.timelines import Floats, Ints, Timelines


class Window(NamedTuple):
    """A stretch of time in ns; ``start_ns`` is outside it, ``end_ns`` inside."""

    start_ns: float
    end_ns: float

    @property
    def seconds(self) -> float:
        """Return its length."""
        return (self.end_ns - self.start_ns) / 1e9


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


def steady_window(timelines: Timelines) -> Window | None:
    """Return the stretch in which the cell's load held, without its ramp and its drain.

    It ends with the last send: from there on requests only leave. It starts when as many were in flight as
    half of the time between first and last send (the median level): in a closed loop the concurrency, in an
    open one the usual crowd. None if shorter than a median request takes: too small a cell to hold steady.
    """
    flight = sweep(timelines)
    if flight.time_ns.size == 0:
        return None
    last_send_ns = float(np.nanmax(timelines.sent_ns))
    reached = flight.in_flight >= _median_level(flight, last_send_ns)
    window = Window(float(flight.time_ns[np.argmax(reached)]), last_send_ns)
    median_request_ns = float(np.nanmedian(timelines.finished_ns - timelines.sent_ns))
    return window if window.end_ns - window.start_ns >= median_request_ns else None


def _median_level(flight: Sweep, until_ns: float) -> int:
    """Return the level in flight that is reached for at least half of the time up to ``until_ns``."""
    held_ns = np.diff(np.minimum(flight.time_ns, until_ns), append=until_ns)
    highest_first = np.argsort(-flight.in_flight, kind="stable")
    held_at_least = np.cumsum(held_ns[highest_first])
    return int(flight.in_flight[highest_first][np.searchsorted(held_at_least, held_at_least[-1] / 2)])


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
