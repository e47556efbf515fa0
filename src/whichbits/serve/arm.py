"""Serve one arm: prepare it, start its replicas, wait for them, check them, and end them in every case."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from whichbits.errors import ArmMismatch, ServerNotReady
from whichbits.record.schema import ArmRecord, ReplicaRecord
from whichbits.serve.control import ControlClient
from whichbits.serve.engine import Engine, Prepared, engine
from whichbits.serve.process import ServerProcess, free_ports
from whichbits.serve.ready import died, wait_until_ready
from whichbits.study.model import Arm, Limits

_HOST = "127.0.0.1"
_REPLICAS = 1
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?(_|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Replica:
    """One running server: where it answers, to which model name, and how to talk to it beside the traffic."""

    name: str
    host: str
    port: int
    model: str
    command: tuple[str, ...]
    environment: dict[str, str]
    process: ServerProcess
    control: ControlClient
    api_path: str = "/v1/completions"

    async def end(self) -> None:
        """Stop the server and drop the control connection."""
        try:
            await self.process.stop()
        finally:
            await self.control.close()


@dataclass(frozen=True)
class RunningArm:
    """An arm that is ready for traffic, and the record of how it came to be."""

    record: ArmRecord
    replicas: tuple[Replica, ...]
    engine: Engine

    @property
    def ready_seconds(self) -> float:
        """Seconds from the first server's start until the last one answered."""
        return max(replica.ready_seconds or 0.0 for replica in self.record.replicas)

    def death(self) -> ServerNotReady | None:
        """Return what the first server that has ended meanwhile died of, as its log gives it; None if all run."""
        for replica in self.replicas:
            if replica.process.returncode is not None:
                return died(replica.process, self.engine.failure, "while it was serving")
        return None


@dataclass(frozen=True)
class _Order:
    """All that the start of a replica needs."""

    name: str
    arm: Arm
    engine: Engine
    prepared: Prepared
    folder: Path
    limits: Limits


@asynccontextmanager
async def serve_arm(name: str, arm: Arm, folder: Path, limits: Limits) -> AsyncIterator[RunningArm]:
    """Serve ``arm`` while the context lasts; its logs go to ``folder``/logs.

    Every server is gone when the context ends, whatever ends it. Raises BadInput, ServerNotReady, or
    ArmMismatch if the engine's own words show another arm than the one asked for.
    """
    chosen = engine(arm.engine)
    prepared = await asyncio.to_thread(chosen.prepare, arm)
    order = _Order(name, arm, chosen, prepared, folder, limits)
    started: list[Replica] = []
    try:
        for index, port in enumerate(free_ports(_REPLICAS, _HOST)):
            started.append(_start(order, str(index), port))
        records = await _all_ready(order, started)
        _insist_on_the_arm(order, records)
        yield RunningArm(_arm_record(order, records), tuple(started), chosen)
    finally:
        await _end_all(started)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` as it may be written down: keys, tokens and passwords are starred."""
    return {name: "***" if _SECRET.search(name) else value for name, value in environment.items()}


def _start(order: _Order, name: str, port: int) -> Replica:
    launch = order.engine.command(order.arm, order.prepared, _HOST, port)
    environment = {**launch.environment, **order.arm.environment}
    log = order.folder / "logs" / f"{quote(order.name, safe='')}-{name}.log"
    return Replica(
        name=name,
        host=_HOST,
        port=port,
        model=order.engine.served_model(order.arm),
        command=launch.argv,
        environment=environment,
        process=ServerProcess(launch.argv, environment, log),
        control=ControlClient(f"http://{_HOST}:{port}"),
    )


async def _all_ready(order: _Order, replicas: Sequence[Replica]) -> tuple[ReplicaRecord, ...]:
    """Wait for every replica at once; the first that fails ends the wait."""
    try:
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(_ready(order, replica)) for replica in replicas]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return tuple(wait.result() for wait in waits)


async def _ready(order: _Order, replica: Replica) -> ReplicaRecord:
    ready_seconds = await wait_until_ready(
        replica.process,
        replica.control.url,
        within_seconds=order.limits.ready_seconds,
        failure=order.engine.failure,
    )
    return ReplicaRecord(
        replica=replica.name,
        command=replica.command,
        environment=without_secrets(replica.environment),
        url=replica.control.url,
        ready_seconds=ready_seconds,
        log=str(replica.process.log.relative_to(order.folder)),
        facts=order.engine.read_facts(replica.process.log_text()),
    )


def _insist_on_the_arm(order: _Order, records: Sequence[ReplicaRecord]) -> None:
    for record in records:
        reasons = order.engine.verify(order.arm, order.prepared.checkpoint, record.facts)
        if reasons:
            raise ArmMismatch(
                "arm_mismatch",
                f"arm {order.name!r} is not what it claims to be: {'; '.join(reasons)}",
                why=f"it claims {order.arm.weight_format}; its checkpoint or kernel is of another format",
                fix=f"correct the arm's model, weight_format or options; the server's words: {record.log}",
            )


def _arm_record(order: _Order, records: tuple[ReplicaRecord, ...]) -> ArmRecord:
    return ArmRecord(
        arm=order.name,
        weight_format=order.arm.weight_format,
        engine=order.engine.name,
        checkpoint=order.prepared.checkpoint,
        replicas=records,
    )


async def _end_all(replicas: Sequence[Replica]) -> None:
    # A task group waits for all of its tasks even if it is cancelled meanwhile.
    async with asyncio.TaskGroup() as group:
        for replica in replicas:
            group.create_task(replica.end())
