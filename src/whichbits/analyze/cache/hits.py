"""How much of the prompts came from the engine's prefix cache, and whether that is what was to be expected."""

from collections.abc import Sequence

import numpy as np

from whichbits.analyze.engine.books import engine_total
from whichbits.record.timelines import Timelines
from whichbits.serve.metrics import EngineCounters

SLACK = 0.03
"""Share of prompt tokens by which a rate may miss its expectation: in which order requests end is the server's own."""

STRAY = 0.005
"""The same where nothing should be found at all."""


def beyond(rate: float, expected: tuple[float, float]) -> float:
    """Return by how much a hit rate misses what was expected, slack granted: above it, below 0 under it, or 0."""
    low, high = expected
    above, below = rate - high, low - rate
    if above > (SLACK if high else STRAY):
        return above
    return -below if below > SLACK else 0.0


def prefix_hit_rate(timelines: Timelines, engines: Sequence[EngineCounters]) -> float | None:
    """Cached prompt tokens / prompt tokens, by the answers' usage or else by the engines' counters.

    Engines that count look-ups tell hits / queries, both in tokens; others cached / prompt tokens. None if neither
    says, which is not the same as 0.
    """
    known = timelines.succeeded & ~np.isnan(timelines.cached_tokens) & ~np.isnan(timelines.prompt_tokens)
    if known.any():
        return _share(timelines.cached_tokens[known].sum(), timelines.prompt_tokens[known].sum())
    queries, hits = (
        [getattr(engine, name) for engine in engines] for name in ("prefix_query_tokens", "prefix_hit_tokens")
    )
    if engines and None not in (*queries, *hits):
        return _share(sum(hits), sum(queries))
    return _share(engine_total(engines, "cached_prompt_tokens"), engine_total(engines, "prompt_tokens"))


def _share(cached: float | None, prompt: float | None) -> float | None:
    return float(cached / prompt) if cached is not None and prompt else None
