"""Requests of a trace: its lengths in order of time, and its hashes as blocks that equal hashes share."""

from whichbits.errors import BadInput
from whichbits.language.amounts import amount
from whichbits.study.arrivals import TraceArrivals
from whichbits.study.recorded_traffic import TraceTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.kept_trace import KeptTrace, Limits, kept_trace
from whichbits.traffic.request import PlannedRequest

_RATE_WITHIN = 0.01
"""How far a load may be from the rate that its trace's own times come to."""


def trace(traffic: TraceTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return the trace's first ``asked.count`` requests; a trace that is exhausted begins anew, with other ids.

    Raises:
        BadInput: ``traffic_file_unreadable``, ``traffic_file_unusable``.
    """
    kept = kept_trace(traffic.path, _limits(traffic))
    blocks = _Blocks(asked, traffic.block_tokens)
    planned = []
    for index in range(asked.count):
        lap, row = divmod(index, len(kept))
        hashes = kept.blocks[row] if kept.blocks else ()
        prompt = blocks.prompt(index, lap, hashes, int(kept.prompt_tokens[row]))
        planned.append(PlannedRequest(index, prompt, int(kept.output_tokens[row]), None))
    return planned


class _Blocks:
    """Token ids of a cell's blocks: those of a hash are the same wherever it stands, and no other cell's."""

    def __init__(self, asked: Asked, block_tokens: int) -> None:
        self._asked = asked
        self._block_tokens = block_tokens
        self._known: dict[tuple[int, int], tuple[int, ...]] = {}

    def prompt(self, index: int, lap: int, hashes: tuple[int, ...], tokens: int) -> tuple[int, ...]:
        """Return the blocks that hashes name, the last one cut, and the request's own ids beyond them."""
        needed = hashes[: -(-tokens // self._block_tokens)]
        shared = [token for block in needed for token in self._block(lap, block)][:tokens]
        own = self._ids(tokens - len(shared), "own", index)
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
    if kept.span_s <= 0 or (count > 1 and times.max() <= 0):
        raise _without_span(path, count)
    if arrivals.speed is not None:
        _refuse_other_rate(path, kept, arrivals.speed, rate)
        scale = 1 / arrivals.speed
    else:
        scale = (count - 1) / rate / float(times[-1]) if count > 1 else 1.0
    return [int(at) for at in times * (scale * 1e9)]


def has_blocks(traffic: TraceTraffic) -> bool:
    """Return whether prompts of the trace may share blocks."""
    return bool(kept_trace(traffic.path, _limits(traffic)).blocks)


def _limits(traffic: TraceTraffic) -> Limits:
    return traffic.longest_input, traffic.longest_output


def _refuse_other_rate(path: str, kept: KeptTrace, speed: float, rate: float) -> None:
    own = speed / kept.mean_gap_s
    if abs(own - rate) > _RATE_WITHIN * own:
        raise BadInput(
            "trace_rate_differs",
            f"{path} at {speed:g} times its speed has {own:.4g} requests/s; the load says {rate:g}",
            why="with a speed the trace keeps its own times, so the load cannot be chosen freely",
            fix=f"write the load as {{request_rate: {own:.4g}}}, or leave `speed` out: the load then sets the pace",
        )


def _without_span(path: str, count: int) -> BadInput:
    return BadInput(
        "trace_without_span",
        f"no time passes within the first {amount(count, 'request')} of {path}",
        why="a trace of one request or one time stamp has no pattern to follow",
        fix="send more requests, take another trace, or arrivals of another kind",
    )
