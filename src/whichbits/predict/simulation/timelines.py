"""From a played cell to what a client would have recorded: a row a request, a time a token."""

from collections.abc import Sequence

import numpy as np

from whichbits.predict.simulation.engine import Stretch
from whichbits.predict.simulation.simulate import Played
from whichbits.record.schema import RequestRecord
from whichbits.record.timelines import Floats

_NS = 1e9


def records_of(played: Played, origin_s: float, token_out_s: float) -> list[RequestRecord]:
    """Return the requests of a cell that began at ``origin_s`` of its run; the play must have kept its steps."""
    ends = [step_ends(stretches or ()) for stretches in played.stretches]
    return [
        _record(played, request, origin_s, ends[played.replica[request]] + token_out_s)
        for request in range(len(played.work))
    ]


def step_ends(stretches: Sequence[Stretch]) -> Floats:
    """Return when the tokens of each step of a replica were handed out, in seconds.

    Within a stretch the front end's delay goes evenly from what it was to what it became.
    """
    if not stretches:
        return np.zeros(0)
    steps, start, linear, square, delay = (np.array(column) for column in zip(*stretches, strict=True))
    before = np.concatenate([[0.0], delay[:-1]])
    first = np.repeat(np.cumsum(steps) - steps, steps)
    number = np.arange(1, first.size + 1) - first
    growth = linear + (delay - before) / steps
    ends: Floats = np.repeat(start + before, steps) + number * (
        np.repeat(growth, steps) + number * np.repeat(square, steps)
    )
    return ends


def gaps_s(played: Played) -> Floats:
    """Return the times between successive tokens of a request, pooled over requests; none if steps were not kept."""
    ends = [step_ends(stretches or ()) for stretches in played.stretches]
    gaps = [
        np.diff(_token_times(played, request, ends[at])) for request, at in enumerate(played.replica) if ends[at].size
    ]
    return np.concatenate(gaps) if gaps else np.zeros(0)


def _token_times(played: Played, request: int, ends: Floats) -> Floats:
    return np.concatenate([ends[first : first + count] for first, count in played.answers.segments[request]])


def _record(played: Played, request: int, origin_s: float, ends: Floats) -> RequestRecord:
    chunk_ns = np.rint((origin_s + _token_times(played, request, ends)) * _NS).astype(np.int64).tolist()
    work = played.work
    return RequestRecord(
        index=work.index[request],
        replica=str(played.replica[request]),
        requested_output_tokens=work.output_tokens[request],
        prompt_tokens=work.prompt_tokens[request],
        cached_tokens=played.cached_tokens[request],
        output_tokens=work.output_tokens[request],
        scheduled_ns=round((origin_s + played.scheduled_s[request]) * _NS),
        sent_ns=round((origin_s + played.sent_s[request]) * _NS),
        first_byte_ns=chunk_ns[0],
        finished_ns=chunk_ns[-1],
        chunk_ns=chunk_ns,
        chunk_tokens=[1] * len(chunk_ns),
        finish_reason="length",
        done_seen=True,
        http_status=200,
        error_code=None,
        error=None,
    )
