"""How one cell's requests and prefix-cache hits fell on the replicas."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from whichbits.analyze.engine.counted import CellCounts, Counted
from whichbits.serve.metrics import EngineCounters


@dataclass(frozen=True)
class ReplicaSummary:
    """One replica's part of a cell; ``share`` is its part of the requests, ``engines`` its cores if it has several.

    Counts of the prefix cache are tokens, None if the engine counts blocks of a size that it does not tell.
    """

    replica: str
    requests: int | None
    share: float | None
    prompt_tokens: int | None
    prefix_queries: int | None
    prefix_hits: int | None
    hit_rate: float | None
    engines: tuple["ReplicaSummary", ...] = ()


def replica_summaries(requests: pa.Table, counts: CellCounts) -> tuple[ReplicaSummary, ...]:
    """Return a line a replica: requests as the client routed them, or as engines finished them if it does not know.

    Behind one address (a Service, a balancer) only the engines know. Token counts are the engines'.
    """
    routed = _routed(requests)
    names = sorted(set(counts) | set(routed or ()))
    found = {name: counts.get(name, Counted(EngineCounters())) for name in names}
    answered = {name: routed[name] if routed else one.total.requests_finished for name, one in found.items()}
    known = [number for number in answered.values() if number is not None]
    every = sum(known) if len(known) == len(answered) else None
    return tuple(_summary(name, one.total, answered[name], every, _cores(one)) for name, one in found.items())


def _routed(requests: pa.Table) -> Counter[str] | None:
    if requests["replica"].null_count or not requests.num_rows:
        return None
    return Counter(str(replica) for replica in requests["replica"].to_pylist())


def _cores(counted: Counted) -> Iterator[ReplicaSummary]:
    """Yield each engine core of a server that has several."""
    if len(counted.engines) > 1:
        every = counted.total.requests_finished
        for label, counters in counted.engines.items():
            yield _summary(label, counters, counters.requests_finished, every, ())


def _summary(
    name: str,
    counters: EngineCounters,
    requests: int | None,
    every: int | None,
    cores: Iterator[ReplicaSummary] | tuple[()],
) -> ReplicaSummary:
    return ReplicaSummary(
        replica=name,
        requests=requests,
        share=requests / every if requests is not None and every else None,
        prompt_tokens=counters.prompt_tokens,
        prefix_queries=counters.prefix_query_tokens,
        prefix_hits=counters.prefix_hit_tokens,
        hit_rate=_hit_rate(counters),
        engines=tuple(cores),
    )


def _hit_rate(counters: EngineCounters) -> float | None:
    """Return hits / queries, or cached / prompt tokens of an engine that does not count look-ups."""
    if counters.hit_rate is not None or counters.cached_prompt_tokens is None or not counters.prompt_tokens:
        return counters.hit_rate
    return counters.cached_prompt_tokens / counters.prompt_tokens
