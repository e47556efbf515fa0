"""What a series of scrapes shows over time: peaks and means of states, and the pace of generation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from whichbits.serve.metrics.counters import EngineCounters, restarted
from whichbits.serve.metrics.names import State


@dataclass(frozen=True)
class Moment:
    """What one server said at one time, in nanoseconds against the run's origin."""

    time_ns: int
    counters: EngineCounters


@dataclass(frozen=True)
class Level:
    """A state over time: its highest reading, the plain mean of its readings, and how many there were."""

    peak: float
    mean: float
    n: int


def level(series: Mapping[str, Sequence[Moment]], state: State) -> Level | None:
    """Return the level of a count (running, waiting) over all servers together; None if one of them never says."""
    told = {
        server: [
            (moment.time_ns, float(value))
            for moment in moments
            if (value := getattr(moment.counters, state)) is not None
        ]
        for server, moments in series.items()
    }
    return _level(_together(told))


def pace(series: Mapping[str, Sequence[Moment]]) -> Level | None:
    """Return the level of output tokens per second over all servers; None if one never gives two readings."""
    return _level(_together({server: generation_rate(moments) for server, moments in series.items()}))


def usage(series: Mapping[str, Sequence[Moment]]) -> Level | None:
    """Return the level of KV cache usage, readings of all servers pooled: the peak is that of the fullest one."""
    readings = [moment.counters.kv_cache_usage for moments in series.values() for moment in moments]
    return _level([reading for reading in readings if reading is not None])


def generation_rate(moments: Sequence[Moment]) -> list[tuple[int, float]]:
    """Return output tokens per second between successive scrapes of one server, each at the time of its end.

    Stretches in which the server restarted or did not say are left out.
    """
    rates = []
    for earlier, later in pairwise(moments):
        before, after = earlier.counters.generation_tokens, later.counters.generation_tokens
        seconds = (later.time_ns - earlier.time_ns) / 1e9
        known = before is not None and after is not None and not restarted(earlier.counters, later.counters)
        if known and seconds > 0:
            rates.append((later.time_ns, ((after or 0) - (before or 0)) / seconds))
    return rates


def _together(told: Mapping[str, Sequence[tuple[int, float]]]) -> list[float]:
    """Add up, at each reading of any server, the latest of every one; from when all of them have spoken."""
    latest: dict[str, float] = {}
    sums = []
    readings = ((time_ns, server, value) for server, values in told.items() for time_ns, value in values)
    for _, server, value in sorted(readings):
        latest[server] = value
        if len(latest) == len(told):
            sums.append(sum(latest.values()))
    return sums


def _level(readings: Sequence[float]) -> Level | None:
    return Level(max(readings), sum(readings) / len(readings), len(readings)) if readings else None
