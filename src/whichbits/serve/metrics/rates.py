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
    """Return the level of a count (running, waiting) over all servers together.

    At each reading, the latest value of every server is added up; readings before all of them have spoken are left
    out. None if a server never says.
    """
    latest: dict[str, float] = {}
    sums = []
    for server, moment in _in_time(series):
        value = getattr(moment.counters, state)
        if value is not None:
            latest[server] = value
            if len(latest) == len(series):
                sums.append(sum(latest.values()))
    return _level(sums)


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


def _in_time(series: Mapping[str, Sequence[Moment]]) -> list[tuple[str, Moment]]:
    moments = [(server, moment) for server, moments in series.items() for moment in moments]
    return sorted(moments, key=lambda pair: pair[1].time_ns)


def _level(readings: Sequence[float]) -> Level | None:
    return Level(max(readings), sum(readings) / len(readings), len(readings)) if readings else None
