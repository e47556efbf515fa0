"""How many requests of a given size a server holds at once: what its KV pool and its scheduler allow."""

import math
from collections.abc import Mapping
from typing import Any

Facts = dict[str, Any]

_POOLS = ("kv_cache_tokens", "kv_cache_tokens_effective", "kv_cache_tokens_derived")
"""The second is what the concurrency figure of a hybrid model implies; its logged size is wrong in some versions."""

_CAPS = ("max_num_seqs", "slots")


def fit(facts: Mapping[str, Any], mean_tokens: float, *, engine: str | None) -> Facts:
    """Return how many requests of ``mean_tokens`` (prompt and output together) run at once, or {} if unknown.

    ``requests_that_fit`` is pool tokens / tokens of a request. Models whose block is inflated to match their state
    take whole blocks. ``requests_at_once`` is the lower of it and the scheduler's cap, and ``limited_by`` says
    which; both are None where the cap is not known. vLLM's pools of several data-parallel engines are already
    summed, SGLang prints that of one; caps hold for one engine.
    """
    pool = next((facts[name] for name in _POOLS if facts.get(name)), None)
    if pool is None or not math.isfinite(mean_tokens) or mean_tokens <= 0:
        return {}
    engines = _engines(facts)
    pools = engines if engine == "sglang" else 1
    fits = int(pool * pools / _taken(facts, mean_tokens))
    cap_name = next((name for name in _CAPS if facts.get(name)), None)
    found: Facts = {"mean_tokens": mean_tokens, "requests_that_fit": fits}
    if cap_name is None:
        return found | {"requests_at_once": None, "limited_by": None}
    cap = facts[cap_name] * engines
    return found | {"requests_at_once": min(fits, cap), "limited_by": "kv_cache" if fits <= cap else cap_name}


def _engines(facts: Mapping[str, Any]) -> int:
    seen = len(facts.get("dp_ranks_seen") or ())
    known = (facts.get("data_parallel_size"), facts.get("data_parallel_size_seen"), seen, 1)
    return next(size for size in known if isinstance(size, int) and size > 0)


def _taken(facts: Mapping[str, Any], mean_tokens: float) -> float:
    block = facts.get("attention_block_size")
    return math.ceil(mean_tokens / block) * block if block else mean_tokens
