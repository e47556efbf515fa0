"""Which decode steps have carried a neighbour's prefill, read from the timelines alone.

A prompt's prefill ends with its first token, which leaves the engine in the same step as its neighbours' next tokens.
So a gap carries a prefill if the first chunk of another request of the same replica came with the chunk that ends it.
Engines that schedule asynchronously (vLLM from 0.15 on) prepare that step while the one before runs, and hold
its tokens back meanwhile. So where the gap before is clearly the longer one, it counts instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whichbits.analyze.statistics.quantiles import median
from whichbits.record.timelines import Booleans, Floats, Ints, Timelines

_NS_PER_MS = 1e6
_CLEARLY = 1.5
"""Times by which a gap must exceed the next one to be no jitter."""


@dataclass(frozen=True)
class PrefillSteps:
    """Gaps with and without the end of a prefill.

    A prompt that is prefilled in several chunks also slows steps before its first token, so ``share`` is a lower
    bound, and ``without_prefill_ms`` may still hold some prefill.
    """

    n: int
    share: float
    with_prefill_ms: float | None
    """Median gap that carries one."""
    without_prefill_ms: float | None


def prefill_steps(timelines: Timelines, replicas: Sequence[str | None]) -> PrefillSteps | None:
    """Split all gaps of the requests that succeeded; ``replicas`` names each request's server.

    None if there are no gaps, or if some request does not name its server: then nobody knows its neighbours.
    """
    if None in replicas:
        return None
    gaps = [_gaps(timelines, np.array([each == replica for each in replicas])) for replica in dict.fromkeys(replicas)]
    lengths = np.concatenate([each.lengths_ns for each in gaps]) if gaps else np.array([])
    carrying = np.concatenate([each.carrying for each in gaps]) if gaps else np.array([], dtype=np.bool_)
    if not lengths.size:
        return None
    return PrefillSteps(
        n=lengths.size,
        share=float(carrying.mean()),
        with_prefill_ms=_median_ms(lengths[carrying]),
        without_prefill_ms=_median_ms(lengths[~carrying]),
    )


@dataclass(frozen=True)
class _Gaps:
    """The gaps of one replica's requests, one entry a gap."""

    request: Ints
    lengths_ns: Floats
    carrying: Booleans


def _gaps(timelines: Timelines, here: Booleans) -> _Gaps:
    """Give each first chunk to the nearest chunk of each neighbour: within half a gap before or after it.

    After an answer's last chunk only a tenth counts: there the stream's own next request may soon begin.
    """
    request = timelines.request_of_chunk
    times = timelines.chunk_ns.astype(np.float64)
    ends = timelines.gap_ends[here[request[timelines.gap_ends]]]
    before = times[ends] - times[ends - 1]
    last = np.append(request[1:] != request[:-1], True)[ends]
    after = np.where(last, before / 5, np.append(np.diff(times), 0.0)[ends])
    firsts = np.sort(timelines.first_chunk_ns[here & ~np.isnan(timelines.first_chunk_ns)])
    came = np.searchsorted(firsts, times[ends] + after / 2) > np.searchsorted(firsts, times[ends] - before / 2)
    return _Gaps(request[ends], before, _where_it_shows(came, request[ends], before))


def _where_it_shows(came: Booleans, request: Ints, lengths_ns: Floats) -> Booleans:
    """Move a prefill to the gap before the one that it ended in, if that is the same answer's and clearly longer."""
    longer = (request[1:] == request[:-1]) & (lengths_ns[:-1] > _CLEARLY * lengths_ns[1:])
    moved = came[1:] & longer
    shown: Booleans = (came & ~np.concatenate([[False], moved])) | np.concatenate([moved, [False]])
    return shown


def _median_ms(lengths_ns: Floats) -> float | None:
    return median(np.sort(lengths_ns)) / _NS_PER_MS if lengths_ns.size else None
