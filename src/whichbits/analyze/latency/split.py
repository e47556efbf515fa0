"""Where a request's time goes: stages by the engines beside the client's times, and TTFT of cache hits and misses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whichbits.analyze.engine.view import EngineTimes
from whichbits.analyze.latency.times import Distribution, distribution, ttft_ms
from whichbits.record.timelines import Timelines

HIT = 0.5
"""A request is a hit if at least this share of its prompt came from the prefix cache."""


@dataclass(frozen=True)
class LatencySplit:
    """Where a request's time goes, as means in ms; what either side does not say is None.

    The engines' stages lie one after another: ``queue`` until a request is scheduled, ``prefill`` until its first
    token, ``decode`` until its last. ``before_send`` is the client's wait for a free slot (scheduled to sent);
    ``outside`` is what remains of the client's TTFT: network, HTTP, tokenising, and the way back of the first token.
    """

    before_send: float | None
    queue: float | None
    prefill: float | None
    decode: float | None
    outside: float | None
    queue_share_of_ttft: float | None
    """Queue / (queue + prefill), both by the engines."""


@dataclass(frozen=True)
class TtftByCache:
    """TTFT of requests at least half of whose prompt came from the prefix cache, and of the others, in ms."""

    hits: Distribution
    misses: Distribution


def latency_split(seen: Mapping[str, Any], ttft: Distribution, from_send: Distribution) -> LatencySplit | None:
    """Set the engines' mean stages beside the client's mean TTFT; None if the engines tell no stage.

    ``seen`` holds ``engine_queue_ms`` and its like, ``ttft`` is from the scheduled send, ``from_send`` from the real.
    """
    queue, prefill, decode = (_mean(seen.get(f"engine_{stage}_ms")) for stage in ("queue", "prefill", "decode"))
    if queue is None and prefill is None and decode is None:
        return None
    in_engine = None if queue is None or prefill is None else queue + prefill
    return LatencySplit(
        before_send=_less(ttft.mean, from_send.mean),
        queue=queue,
        prefill=prefill,
        decode=decode,
        outside=_less(from_send.mean, in_engine),
        queue_share_of_ttft=queue / in_engine if queue is not None and in_engine else None,
    )


def ttft_by_cache(timelines: Timelines) -> TtftByCache | None:
    """Split TTFT by whether the prompt came from the cache; None unless every good request tells."""
    asked = np.where(timelines.prompt_tokens > 0, timelines.prompt_tokens, np.nan)
    share = (timelines.cached_tokens / asked)[timelines.succeeded]
    if not share.size or np.isnan(share).any():
        return None
    times = ttft_ms(timelines)[timelines.succeeded]
    return TtftByCache(hits=distribution(times[share >= HIT]), misses=distribution(times[share < HIT]))


def _mean(times: EngineTimes | None) -> float | None:
    return None if times is None else times.mean


def _less(whole: float | None, part: float | None) -> float | None:
    return None if whole is None or part is None else whole - part
