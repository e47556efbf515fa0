"""How long an arm takes from its start until it serves, by stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whichbits.record.schema import Fact, ReplicaRecord


@dataclass(frozen=True)
class ColdStart:
    """One start of one replica, in seconds; a stage that the engine did not tell is None.

    ``load`` reads the weights into memory and may hold a download. ``init`` lies after it and holds ``compile``,
    ``cuda_graphs`` and profiling. ``rest`` is what remains until the server was ready: process, imports, tokenizer.
    """

    replica: str
    download: float | None
    weights: float | None
    load: float | None
    compile: float | None
    cuda_graphs: float | None
    init: float | None
    ready: float | None
    rest: float | None
    beside: int | None = None
    """Other servers that started on the machine meanwhile, and made it slower; None if none did, or nobody noted."""


def cold_start(replicas: Sequence[ReplicaRecord]) -> ColdStart | None:
    """Return the slowest start among the replicas, which is when the arm serves; None if no time is known."""
    starts = [_start(replica) for replica in replicas]
    known = [start for start in starts if _any_known(start)]
    return max(known, key=lambda start: start.ready or 0.0, default=None)


def _start(replica: ReplicaRecord) -> ColdStart:
    facts = replica.facts
    load, init = _seconds(facts, "model_load_seconds"), _seconds(facts, "init_engine_seconds")
    ready = replica.ready_seconds
    rest = None if ready is None or load is None or init is None else ready - load - init
    return ColdStart(
        replica=replica.replica,
        download=_seconds(facts, "download_seconds"),
        weights=_seconds(facts, "weights_load_seconds"),
        load=load,
        compile=_seconds(facts, "compile_seconds"),
        cuda_graphs=_seconds(facts, "cuda_graph_seconds"),
        init=init,
        ready=ready,
        rest=rest,
        beside=_count(facts, "started_beside"),
    )


def _any_known(start: ColdStart) -> bool:
    stages = (start.download, start.weights, start.load, start.compile, start.cuda_graphs, start.init, start.ready)
    return any(stage is not None for stage in stages)


def _count(facts: Mapping[str, Fact], name: str) -> int | None:
    value = facts[name].value if name in facts else None
    return value if isinstance(value, int) else None


def _seconds(facts: Mapping[str, Fact], name: str) -> float | None:
    value = facts[name].value if name in facts else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
