"""What the KV cache's size does and does not mean: the log's maximum concurrency, and the prefixes in use."""

from collections.abc import Iterator

from whichbits.analyze.capacity import Capacity
from whichbits.analyze.findings.observed import Observed, listed
from whichbits.analyze.summary import CellSummary, Finding


def worst_case_concurrency(observed: Observed) -> Iterator[Finding]:
    """Say that the log's maximum concurrency is no limit for this traffic, where the load is beyond it."""
    beyond = {
        arm: (room.worst_case_requests, room.requests_that_fit)
        for arm, room in _rooms(observed).items()
        if room.worst_case_requests and room.requests_that_fit and room.offered
        if room.worst_case_requests < room.offered < room.requests_that_fit
    }
    if beyond:
        arms: dict[str, list[str]] = {}
        for arm, (worst, fit) in beyond.items():
            arms.setdefault(f"where {fit:.0f} fit, it is {worst:.1f}", []).append(arm)
        told = "; ".join(f"{words} for {listed(names)}" for words, names in arms.items())
        text = (
            f"The log's maximum concurrency is no limit here: {told}. It supposes that every request has "
            f"max_model_len tokens; the KV cache is taken block by block, as tokens come."
        )
        lines = tuple(
            f"{arm}: {room.kv_cache_tokens:,} KV tokens / {room.tokens_per_request:.0f} tokens a request"
            for arm, room in _rooms(observed).items()
            if arm in beyond
        )
        yield Finding("observed", "worst_case_concurrency", text, lines)


def prefix_working_set(observed: Observed) -> Iterator[Finding]:
    """Say that shared prefixes do not stay in a cache that holds all running requests with ease."""
    short = {arm: room for arm, room in _rooms(observed).items() if _evicts(room)}
    if short:
        shares = listed(f"{room.prefix_working_set_share:.2f} times {arm}'s" for arm, room in short.items())
        tokens = max(room.prefix_working_set_tokens or 0 for room in short.values())
        text = (
            f"The KV cache has room for all running requests and not for all shared prefixes: those are {tokens:,} "
            f"tokens for each replica, {shares} cache. Prefixes evict each other before they are used again, so the "
            f"cache's size does decide here: through the hit rate, and by it through prefill.{_rates(observed)}"
        )
        lines = tuple(
            f"{arm}: {room.prefix_working_set_tokens:,} / {room.kv_cache_tokens:,} tokens; "
            f"requests that fit {room.requests_that_fit:.1f}, asked {room.offered:g}"
            for arm, room in short.items()
        )
        settled = "the same traffic with fewer prefixes, or routed so that each prefix has one replica (`prefix_hash`)"
        yield Finding("observed", "prefix_working_set", text, lines, settled)


def _rooms(observed: Observed) -> dict[str, Capacity]:
    return {arm.arm: arm.capacity for arm in observed.arms.values() if arm.capacity is not None}


def _evicts(room: Capacity) -> bool:
    roomy = room.requests_that_fit is not None and room.offered is not None and room.requests_that_fit > room.offered
    return roomy and (room.prefix_working_set_share or 0) > 1


def _rates(observed: Observed) -> str:
    """Return each arm's hit rate with what an LRU of that size gives for this traffic, of its first cell."""
    first: dict[str, CellSummary] = {}
    for cell in observed.done:
        if cell.prefix_hit_rate is not None:
            first.setdefault(cell.arm, cell)
    return f" Measured hit rates: {listed(_rate(cell) for cell in first.values())}." if first else ""


def _rate(cell: CellSummary) -> str:
    expected = cell.expected_prefix_hit_rate
    beside = "" if expected is None else f" (an LRU of that size gives {expected[0]:.1%} to {expected[1]:.1%})"
    return f"{cell.arm} {cell.prefix_hit_rate or 0:.1%}{beside}"
