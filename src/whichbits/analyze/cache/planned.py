"""What hit rate a cell's plan explains: its traffic, made again from the study, on the caches that served it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whichbits.analyze.cache.expected import ExpectedRate, Prompt, Replicas, expected_hit_rate
from whichbits.analyze.cache.shared_blocks import segments
from whichbits.analyze.engine.counted import CellCounts
from whichbits.analyze.load.concurrency import peak_concurrency
from whichbits.errors import BadInput
from whichbits.record.schema import ArmRecord, Cell, Manifest
from whichbits.record.timelines import Timelines
from whichbits.study.model import Load, Study
from whichbits.study.read import study_of_record
from whichbits.study.traffic import shared_prefix_tokens

if TYPE_CHECKING:
    from whichbits.traffic.request import PlannedRequest

_UNSHARED, _SHARED = {"chat", "random"}, {"prefix_repetition", "shared_prompt"}
"""Kinds of traffic whose prompts are drawn apart, so that no two have a block in common; and those with prefixes."""

_BY_BLOCKS = {"sessions", "trace", "jsonl"}
"""Kinds whose prompts share whatever they share: their ids tell it, block by block."""

_NOTHING = ExpectedRate(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Served:
    """How one cell's prompts met the caches: who was sent, in which order, and to which replica if known."""

    order: Sequence[int]
    routing: Sequence[int] | None
    in_flight: int


class PlannedCache:
    """The expected hit rates of a run's cells; the prompts of one load are made once."""

    def __init__(self, manifest: Manifest) -> None:
        self._arms = manifest.arms
        self._study = study_of_record(manifest.study)
        self._traffic = manifest.traffic
        self._prompts: dict[tuple[str, int], list[Prompt] | None] = {}

    def expected(self, cell: Cell, requests: pa.Table, counts: CellCounts) -> ExpectedRate | None:
        """Return what the cell's own traffic explains; None if plan or capacity is not known.

        Prompts that no other one repeats find nothing, whatever the capacity, unless the study warms its caches.
        """
        study, arm = self._study, self._arms.get(cell.arm)
        if study is None or arm is None or not requests.num_rows:
            return None
        kind = str(study.traffic.kind)
        if _caches_nothing(arm) or (kind in _UNSHARED and study.cache != "warm"):
            return _NOTHING
        if kind not in _UNSHARED | _SHARED | _BY_BLOCKS:
            return None
        served = _served(requests, sorted(counts) or [replica.replica for replica in arm.replicas])
        replicas = _replicas(arm, counts, served.in_flight)
        if replicas is None:
            return None
        planned = self._of_load(study, cell, replicas.block_size)
        routing = served.routing if replicas.count == len(counts or arm.replicas) else None
        # A hundred routings of so many blocks would take minutes.
        too_many = kind in _BY_BLOCKS and routing is None and replicas.count > 1
        if planned is None or too_many or not set(served.order) <= set(range(len(planned))):
            return None
        return expected_hit_rate(
            [planned[index] for index in served.order], replicas, routing, primed=study.cache == "warm"
        )

    def _of_load(self, study: Study, cell: Cell, block_size: int) -> list[Prompt] | None:
        load = Load.of(cell)
        key = (str(load), block_size)
        if key not in self._prompts:
            self._prompts[key] = self._planned(study, load, block_size)
        return self._prompts[key]

    def _planned(self, study: Study, load: Load, block_size: int) -> list[Prompt] | None:
        """Plan a load again; None if a file of its traffic is not there any more, or is another one now."""
        # Most runs have traffic that shares nothing: what draws prompts loads on use.
        from whichbits.traffic.facts import refuse_changed
        from whichbits.traffic.plan import plan_cell, traffic_facts

        # Lengths, and what is shared, are the same in every repeat; token ids, which differ, play no part.
        try:
            refuse_changed(self._traffic, traffic_facts(study) if self._traffic else {})
            requests = plan_cell(study, load, 0)
        except BadInput:
            return None
        if str(study.traffic.kind) not in _BY_BLOCKS:
            return [_prompt(study, request) for request in requests]
        if any(request.messages for request in requests):
            return None  # only the server's tokenizer knows which tokens words share
        shared = segments([request.prompt for request in requests], block_size)
        return [
            Prompt(None, 0, len(request.prompt), request.output_tokens, runs)
            for request, runs in zip(requests, shared, strict=True)
        ]


def _prompt(study: Study, request: "PlannedRequest") -> Prompt:
    prefix = 0 if request.prefix is None else shared_prefix_tokens(study.traffic)
    return Prompt(request.prefix, prefix, len(request.prompt) - prefix, request.output_tokens)


def _served(requests: pa.Table, names: Sequence[str]) -> _Served:
    timelines = Timelines.of(requests)
    sent = np.flatnonzero(~np.isnan(timelines.sent_ns))
    in_order = sent[np.argsort(timelines.sent_ns[sent], kind="stable")]
    index, replica = requests["index"].to_pylist(), requests["replica"].to_pylist()
    known = all(replica[row] in names for row in in_order)
    return _Served(
        order=[index[row] for row in in_order],
        routing=[list(names).index(replica[row]) for row in in_order] if known else None,
        in_flight=peak_concurrency(timelines) or 1,
    )


def _caches_nothing(arm: ArmRecord) -> bool:
    said = [replica.facts.get("enable_prefix_caching") for replica in arm.replicas]
    return bool(said) and all(fact is not None and fact.value is False for fact in said)


def _replicas(arm: ArmRecord, counts: CellCounts, in_flight: int) -> Replicas | None:
    """Describe the caches by what engines count, else by what they logged; every engine core has one of its own."""
    cores = [core for counted in counts.values() for core in counted.engines.values()]
    told = [(core.kv_cache_tokens, core.block_size) for core in cores]
    logged = [
        (_whole(replica.facts, "kv_cache_tokens"), _whole(replica.facts, "block_size")) for replica in arm.replicas
    ]
    for caches in (told, logged):
        tokens, blocks = ([cache[side] for cache in caches] for side in (0, 1))
        if caches and None not in (*tokens, *blocks):
            smallest = min(amount for amount in tokens if amount is not None)
            largest = max(amount for amount in blocks if amount is not None)
            return Replicas(len(caches), smallest, largest, in_flight)
    return None


def _whole(facts: dict[str, Any], name: str) -> int | None:
    value = facts[name].value if name in facts else None
    return round(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
