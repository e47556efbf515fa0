"""Serve one arm: bring up its servers or find those that run, check them, and end what was started in every case."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from whichbits.record.schema import ArmRecord, Fact, ReplicaRecord
from whichbits.serve.attached import AttachedFleet
from whichbits.serve.claim import insist_on_the_claim
from whichbits.serve.endpoint.profiler import PROFILERS, ProfilerPaths
from whichbits.serve.endpoint.replica import Fleet
from whichbits.serve.engine import engine
from whichbits.serve.launched import LaunchedFleet
from whichbits.serve.order import Order
from whichbits.study.arm import Arm
from whichbits.study.model import Limits


@dataclass(frozen=True)
class RunningArm:
    """An arm that is ready for traffic, the record of how it came to be, and its servers."""

    record: ArmRecord
    fleet: Fleet
    cache_reset_path: str | None = None
    profiler: ProfilerPaths | None = None
    """Where its servers' profilers are switched; None if they have none, or write nowhere that is known."""
    tells_usage: bool = True
    """Whether its answers tell their tokens."""

    @property
    def ready_seconds(self) -> float | None:
        """Seconds from the first server's start until the last one answered; None if they ran already."""
        known = [replica.ready_seconds for replica in self.record.replicas if replica.ready_seconds is not None]
        return max(known) if known else None


@dataclass(frozen=True)
class Circumstances:
    """Of a start. If it is ``profiled``, its servers' profilers can be switched on and off.

    ``beside`` says how many servers of other arms start meanwhile: it then takes longer, and its record says so.
    """

    profiled: bool = False
    beside: int = 0


ALONE = Circumstances()


@asynccontextmanager
async def serve_arm(
    name: str, arm: Arm, folder: Path, limits: Limits, circumstances: Circumstances = ALONE
) -> AsyncIterator[RunningArm]:
    """Serve ``arm`` while the context lasts; logs of servers that it starts go to ``folder``/logs.

    ``circumstances`` are those of a start; servers that run already have none.

    Every started server is gone when the context ends, whatever ends it. Raises BadInput, ServerNotReady, or
    ArmMismatch if the engine's own words show another arm than the one asked for.
    """
    chosen = engine(arm.engine)
    prepared = await asyncio.to_thread(chosen.prepare, arm)
    profiler = PROFILERS.get(chosen.name) if circumstances.profiled and arm.target is None else None
    order = Order(
        name, arm, chosen, prepared, folder, limits, profiled=profiler is not None, beside=circumstances.beside
    )
    fleet = _fleet(order)
    try:
        await fleet.start()
        order = await _with_files_fetched(order)
        insist_on_the_claim(order, fleet.records)
        yield RunningArm(_arm_record(order, fleet.records), fleet, chosen.cache_reset_path, profiler)
    finally:
        await fleet.end()


async def _with_files_fetched(order: Order) -> Order:
    """Look at the checkpoint again if its weights were not there before: an engine may have fetched them meanwhile."""
    if not _without_weights(order.prepared.checkpoint):
        return order
    return replace(order, prepared=await asyncio.to_thread(order.engine.prepare, order.arm))


def _without_weights(checkpoint: dict[str, Fact]) -> bool:
    """Return whether nothing was found, or only a config, or a download that was not complete."""
    source = checkpoint.get("checkpoint_source")
    return not checkpoint or "checkpoint_unread" in checkpoint or (source is not None and source.value != "tensors")


def _fleet(order: Order) -> Fleet:
    target = order.arm.target
    if target is None:
        return LaunchedFleet(order)
    if target.kubernetes is None:
        return AttachedFleet(order, target)
    from whichbits.serve.kubernetes.fleet import KubernetesFleet

    return KubernetesFleet(order, target, target.kubernetes)


def _arm_record(order: Order, records: tuple[ReplicaRecord, ...]) -> ArmRecord:
    return ArmRecord(
        arm=order.name,
        weight_format=order.arm.weight_format,
        engine=order.engine.name,
        checkpoint=order.prepared.checkpoint,
        replicas=records,
    )
