"""What the KV cache's size does and does not mean: the log's maximum concurrency, and the prefixes in use."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.limits.capacity import Capacity
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.phrase import joined, listed, phrase


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
            arms.setdefault(phrase("where {fit:.0f} fit, it is {worst:.1f}", fit=fit, worst=worst), []).append(arm)
        told = joined(
            "; ", (phrase("{words} for {names}", words=words, names=listed(names)) for words, names in arms.items())
        )
        text = phrase(
            "The log's maximum concurrency is no limit here: {told}. It supposes that every request has "
            "max_model_len tokens; the KV cache is taken block by block, as tokens come.",
            told=told,
        )
        lines = tuple(
            phrase(
                "{arm}: {kv_cache_tokens:,} KV tokens / {tokens_per_request:.0f} tokens a request",
                arm=arm,
                kv_cache_tokens=room.kv_cache_tokens,
                tokens_per_request=room.tokens_per_request,
            )
            for arm, room in _rooms(observed).items()
            if arm in beyond
        )
        yield Finding("observed", "worst_case_concurrency", text, lines)


def prefix_working_set(observed: Observed) -> Iterator[Finding]:
    """Say that shared prefixes do not stay in a cache that holds all running requests with ease."""
    short = {arm: room for arm, room in _rooms(observed).items() if _evicts(room)}
    if short:
        shares = listed(
            phrase(
                "{prefix_working_set_share:.2f} times {arm}'s",
                prefix_working_set_share=room.prefix_working_set_share,
                arm=arm,
            )
            for arm, room in short.items()
        )
        tokens = max(room.prefix_working_set_tokens or 0 for room in short.values())
        text = phrase(
            "The KV cache has room for all running requests and not for all shared prefixes: those are "
            "{tokens:,} tokens for each replica, {shares} cache. Prefixes evict each other before they are "
            "used again, so the cache's size does decide here: through the hit rate, and by it through "
            "prefill.{rates}",
            tokens=tokens,
            shares=shares,
            rates=_rates(observed),
        )
        lines = tuple(
            phrase(
                "{arm}: {prefix_working_set_tokens:,} / {kv_cache_tokens:,} tokens; requests that fit "
                "{requests_that_fit:.1f}, asked {offered:g}",
                arm=arm,
                prefix_working_set_tokens=room.prefix_working_set_tokens,
                kv_cache_tokens=room.kv_cache_tokens,
                requests_that_fit=room.requests_that_fit,
                offered=room.offered,
            )
            for arm, room in short.items()
        )
        settled = phrase(
            "the same traffic with fewer prefixes, or routed so that each prefix has one replica (`prefix_hash`)"
        )
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
    return phrase(" Hit rates: {names}.", names=listed(_rate(cell) for cell in first.values())) if first else ""


def _rate(cell: CellSummary) -> str:
    expected = cell.expected_prefix_hit_rate
    beside = (
        ""
        if expected is None
        else phrase(
            " (an LRU of that size gives {expected})",
            expected=f"{expected[0]:.1%}"
            if f"{expected[0]:.1%}" == f"{expected[1]:.1%}"
            else phrase("{low:.1%} to {high:.1%}", low=expected[0], high=expected[1]),
        )
    )
    return phrase(
        "{arm} {prefix_hit_rate:.1%}{beside}", arm=cell.arm, prefix_hit_rate=cell.prefix_hit_rate or 0, beside=beside
    )
