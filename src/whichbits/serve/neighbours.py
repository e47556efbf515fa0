"""Servers that start at the same time on one machine: which may, and what that does to what they say of their start."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from whichbits.record.schema import Fact, ReplicaRecord
from whichbits.serve.engine import engine
from whichbits.study.arm import Arm

_FROM_FREE_MEMORY = frozenset({"cuda_graph_gib", "cuda_graph_estimated_gib"})
"""What vLLM reads off the card's free memory before and after: a neighbour's growth is in it, too."""


def may_start_at_once(arms: Iterable[Arm]) -> bool:
    """Return whether none of the servers to be started sizes itself by what is free meanwhile. Raises BadInput."""
    return not any(arm.target is None and engine(arm.engine).measures_free_memory(arm) for arm in arms)


def servers_of(arm: Arm) -> int:
    """Return how many servers are started for an arm."""
    return arm.replicas if arm.target is None else 0


def told_of_neighbours(
    records: Sequence[ReplicaRecord], beside: int, *, on_the_card: bool
) -> tuple[ReplicaRecord, ...]:
    """Return the records with how many servers started meanwhile, and ``on_the_card`` without what that made wrong."""
    if not beside:
        return tuple(records)
    wrong = _FROM_FREE_MEMORY if on_the_card else frozenset()
    told = {"started_beside": Fact(beside, "whichbits")}
    return tuple(replace(each, facts=_without(each.facts, wrong) | told) for each in records)


def _without(facts: dict[str, Fact], wrong: frozenset[str]) -> dict[str, Fact]:
    return {name: fact for name, fact in facts.items() if name not in wrong}
