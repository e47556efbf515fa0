"""How many requests an arm's KV cache holds, what limits that, and whether shared prefixes stay in it."""

from dataclasses import dataclass
from typing import Literal

Limit = Literal["kv_cache", "max_num_seqs", "load"]

_GIB = 2**30


@dataclass(frozen=True)
class Pool:
    """One replica's KV cache as its engine reports it; what was not said is None."""

    tokens: int
    memory_gib: float | None = None
    """Of one GPU."""
    bytes_per_token: float | None = None
    """From the model's shape, over all GPUs of the replica. Memory / tokens is worse: a pool whose blocks were
    overridden is smaller than its memory, one over several GPUs is larger."""
    gpus: int = 1
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    cuda_graph_gib: float | None = None
    activation_gib: float | None = None


@dataclass(frozen=True)
class Demand:
    """What traffic asks of one replica: mean lengths in tokens, most requests at once, shared prefixes."""

    prompt_tokens: float
    output_tokens: float
    concurrency: float | None = None
    distinct_prefixes: int | None = None
    prefix_tokens: int | None = None


@dataclass(frozen=True)
class Capacity:
    """One replica's room. ``worst_case_requests`` is what engines print as maximum concurrency."""

    kv_cache_tokens: int
    kv_bytes_per_token: float | None
    tokens_per_request: float | None
    """Mean prompt and answer together: what a request holds at its end. Shared prefixes are not deducted."""
    requests_that_fit: float | None
    worst_case_requests: float | None
    """Requests that fit if every one has ``max_model_len`` tokens."""
    max_num_seqs: int | None
    offered: float | None
    """Most requests at once that the loads put on a replica."""
    binds: Limit | None
    """The lowest of requests that fit, scheduler cap and load; None if there are not two to compare."""
    cuda_graph_tokens: float | None
    """Tokens that the memory of the CUDA graphs would hold."""
    activation_tokens: float | None
    """Tokens that the memory set aside for the largest step would hold; it grows with max_num_batched_tokens."""
    prefix_working_set_tokens: int | None
    """Distinct shared prefixes x length, all of which meet every replica unless a router keeps them apart."""
    prefix_working_set_share: float | None
    """Working set / KV cache: above 1, prefixes evict each other before they are used again."""


def capacity(pool: Pool, demand: Demand | None) -> Capacity:
    """Set the room of one replica against what one replica is asked for."""
    length = None if demand is None else demand.prompt_tokens + demand.output_tokens
    fit = pool.tokens / length if length else None
    offered = None if demand is None else demand.concurrency
    per_token = _bytes_per_token(pool)
    on_a_gpu = None if per_token is None else per_token / pool.gpus
    working_set = _working_set(demand)
    return Capacity(
        kv_cache_tokens=pool.tokens,
        kv_bytes_per_token=per_token,
        tokens_per_request=length,
        requests_that_fit=fit,
        worst_case_requests=pool.tokens / pool.max_model_len if pool.max_model_len else None,
        max_num_seqs=pool.max_num_seqs,
        offered=offered,
        binds=_lowest({"kv_cache": fit, "max_num_seqs": pool.max_num_seqs, "load": offered}),
        cuda_graph_tokens=_tokens_in(pool.cuda_graph_gib, on_a_gpu),
        activation_tokens=_tokens_in(pool.activation_gib, on_a_gpu),
        prefix_working_set_tokens=working_set,
        prefix_working_set_share=working_set / pool.tokens if working_set is not None and pool.tokens else None,
    )


def _bytes_per_token(pool: Pool) -> float | None:
    if pool.bytes_per_token is not None or pool.memory_gib is None or not pool.tokens:
        return pool.bytes_per_token
    return pool.memory_gib * _GIB * pool.gpus / pool.tokens


def _tokens_in(gib: float | None, bytes_per_token: float | None) -> float | None:
    return gib * _GIB / bytes_per_token if gib is not None and bytes_per_token else None


def _working_set(demand: Demand | None) -> int | None:
    if demand is None or demand.distinct_prefixes is None or demand.prefix_tokens is None:
        return None
    return demand.distinct_prefixes * demand.prefix_tokens


def _lowest(limits: dict[Limit, float | None]) -> Limit | None:
    known = [(value, name) for name, value in limits.items() if value is not None]
    return min(known)[1] if limits["kv_cache"] is not None and len(known) > 1 else None
