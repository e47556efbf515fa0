"""Requests of a trace: its lengths in order of time, and its hashes as blocks that equal hashes share."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from whichbits.errors import BadInput
from whichbits.study.arrivals import TraceArrivals
from whichbits.study.recorded_traffic import TraceTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.facts import Counts, file_facts, unreadable, without_usable_row
from whichbits.traffic.request import PlannedRequest
from whichbits.traffic.traces import Arrival, TraceFormat, each_arrival
from whichbits.traffic.version import FileVersion, version_of

_RATE_WITHIN = 0.01
"""How far a load may be from the rate that its trace's own times come to."""

Limits = tuple[int | None, int | None]


class KeptTrace:
    """A trace's usable arrivals in order of time."""

    def __init__(self, path: Path, trace_format: TraceFormat, arrivals: list[Arrival], counts: Counts) -> None:
        self.path = path
        self.format = trace_format
        self.arrivals = arrivals
        self.counts = counts

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return self.arrivals[-1].at_s - self.arrivals[0].at_s

    @property
    def mean_gap_s(self) -> float:
        """Mean seconds between arrivals; 0 for a trace without a span."""
        return self.span_s / max(1, len(self.arrivals) - 1)

    def times_s(self, count: int) -> list[float]:
        """Return the first ``count`` arrivals' seconds after the first; after the last, the trace begins anew."""
        lap_s = self.span_s + self.mean_gap_s
        first = self.arrivals[0].at_s
        rows = len(self.arrivals)
        return [self.arrivals[at % rows].at_s - first + at // rows * lap_s for at in range(count)]


def trace(traffic: TraceTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return the trace's first ``asked.count`` requests; a trace that is exhausted begins anew, with other ids.

    Raises:
        BadInput: ``traffic_file_unreadable``, ``traffic_file_unusable``.
    """
    kept = kept_trace(traffic.path, _limits(traffic))
    blocks = _Blocks(asked, traffic.block_tokens)
    planned = []
    for index in range(asked.count):
        lap, row = divmod(index, len(kept.arrivals))
        arrival = kept.arrivals[row]
        planned.append(PlannedRequest(index, blocks.prompt(index, lap, arrival), arrival.output_tokens, None))
    return planned


class _Blocks:
    """Token ids of a cell's blocks: those of a hash are the same wherever it stands, and no other cell's."""

    def __init__(self, asked: Asked, block_tokens: int) -> None:
        self._asked = asked
        self._block_tokens = block_tokens
        self._known: dict[tuple[int, int], tuple[int, ...]] = {}

    def prompt(self, index: int, lap: int, arrival: Arrival) -> tuple[int, ...]:
        """Return the blocks that hashes name, whole or cut, and the request's own ids beyond them."""
        shared = [token for block in arrival.blocks for token in self._block(lap, block)][: arrival.prompt_tokens]
        own = self._ids(arrival.prompt_tokens - len(shared), "own", index)
        return (*shared, *own)

    def _block(self, lap: int, block: int) -> tuple[int, ...]:
        key = (lap, block)
        if key not in self._known:
            self._known[key] = self._ids(self._block_tokens, "lap", lap, "block", block)
        return self._known[key]

    def _ids(self, count: int, *purpose: str | int) -> tuple[int, ...]:
        low, high = self._asked.study.token_ids
        return tuple(self._asked.own("ids", *purpose).integers(low, high, count).tolist()) if count > 0 else ()


def trace_offsets_ns(arrivals: TraceArrivals, path: str, limits: Limits, rate: float, count: int) -> list[int]:
    """Return ``count`` offsets in the trace's pattern.

    Without a speed they are stretched so that the last is due at (count - 1) / rate: the mean gap is 1 / rate.

    Raises:
        BadInput: ``trace_without_span``, ``trace_rate_differs``, or what reading the trace raises.
    """
    kept = kept_trace(path, limits)
    times = kept.times_s(count)
    if kept.span_s <= 0 or (count > 1 and times[-1] <= 0):
        raise _without_span(kept, count)
    if arrivals.speed is not None:
        _refuse_other_rate(kept, arrivals.speed, rate)
        scale = 1 / arrivals.speed
    else:
        scale = (count - 1) / rate / times[-1] if count > 1 else 1.0
    return [int(at * scale * 1e9) for at in times]


def has_blocks(traffic: TraceTraffic) -> bool:
    """Return whether prompts of the trace may share blocks."""
    return any(arrival.blocks for arrival in kept_trace(traffic.path, _limits(traffic)).arrivals)


def trace_facts(path: str, limits: Limits = (None, None)) -> dict[str, Any]:
    """Return what a run records of a trace."""
    kept = kept_trace(path, limits)
    rate = 1 / kept.mean_gap_s if kept.mean_gap_s else None
    return file_facts(kept.path, kept.counts, format=kept.format, span_s=kept.span_s, mean_request_rate=rate)


def kept_trace(path: str, limits: Limits = (None, None)) -> KeptTrace:
    """Return the trace at ``path`` without requests beyond ``limits`` (prompt, answer).

    Raises:
        BadInput: ``traffic_file_unreadable``, ``traffic_file_unusable``.
    """
    return _kept(version_of(path), limits)


@lru_cache(maxsize=4)
def _kept(version: FileVersion, limits: Limits) -> KeptTrace:
    counts, arrivals = Counts(), []
    try:
        with version.path.open(encoding="utf-8-sig", newline="") as file:
            trace_format, rows = each_arrival(file)
            for number, read in enumerate(rows, 1):
                reason = _too_long(read, limits) if isinstance(read, Arrival) else read
                counts.count(number, reason)
                if isinstance(read, Arrival) and reason is None:
                    arrivals.append(read)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(version.path, error) from None
    if trace_format is None or not arrivals:
        raise without_usable_row(version.path, counts, "a trace of Mooncake, BurstGPT or Azure")
    arrivals.sort(key=lambda arrival: arrival.at_s)
    return KeptTrace(version.path, trace_format, arrivals, counts)


def _limits(traffic: TraceTraffic) -> Limits:
    return traffic.longest_input, traffic.longest_output


def _too_long(arrival: Arrival, limits: Limits) -> str | None:
    longest_input, longest_output = limits
    if longest_input is not None and arrival.prompt_tokens > longest_input:
        return "prompt_too_long"
    return "answer_too_long" if longest_output is not None and arrival.output_tokens > longest_output else None


def _refuse_other_rate(kept: KeptTrace, speed: float, rate: float) -> None:
    own = speed / kept.mean_gap_s
    if abs(own - rate) > _RATE_WITHIN * own:
        raise BadInput(
            "trace_rate_differs",
            f"{kept.path} at {speed:g} times its speed has {own:.4g} requests a second; the load says {rate:g}",
            why="with a speed the trace keeps its own times, so the load cannot be chosen freely",
            fix=f"write the load as {{request_rate: {own:.4g}}}, or leave `speed` out: the load then sets the pace",
        )


def _without_span(kept: KeptTrace, count: int) -> BadInput:
    return BadInput(
        "trace_without_span",
        f"the first {count} requests of {kept.path} come at one moment",
        why="a trace of one request or one time stamp has no pattern to follow",
        fix="send more requests, take another trace, or arrivals of another kind",
    )
