"""Bringing up the arms of a visit: one after the other, or all at once where no server measures what is free."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from whichbits.conduct.arms.beds import Beds
from whichbits.conduct.arms.giving_up import Losses
from whichbits.conduct.arms.warm import Warmth, warm_up
from whichbits.conduct.events import ArmReady, ArmStarting, WarmingUp
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import unless
from whichbits.errors import ArmMismatch, ServerNotReady
from whichbits.language.phrase import Phrase, joined, phrase
from whichbits.record.schema import ArmRecord
from whichbits.serve.arm import Circumstances, RunningArm, serve_arm
from whichbits.serve.neighbours import may_start_at_once, servers_of
from whichbits.serve.sleep import able_to_sleep


async def bring_up(losses: Losses, servers: AsyncExitStack, beds: Beds | None) -> dict[str, RunningArm]:
    """Start and warm the visit's arms; those whose servers fail are given up. ``servers`` ends what is started."""
    stage, arms = losses.stage, losses.visit.arms
    if beds is None and len(arms) > 1 and may_start_at_once([stage.study.arms[arm] for arm in arms]):
        started = await _all_at_once(losses, servers)
        return await _warmed(losses, started)
    running: dict[str, RunningArm] = {}
    for arm in arms:
        with losses.borne(arm):
            served = await _warm(stage, await _start(stage, arm, servers))
            if beds is not None:
                await beds.put_to_bed(served)
            running[arm] = served
    return running


async def _all_at_once(losses: Losses, servers: AsyncExitStack) -> dict[str, RunningArm]:
    """Start all arms and wait until each is ready or given up."""
    stage, arms = losses.stage, losses.visit.arms
    started: dict[str, RunningArm] = {}

    async def start(arm: str) -> None:
        with losses.borne(arm):
            others = sum(servers_of(stage.study.arms[other]) for other in arms if other != arm)
            started[arm] = await _start(stage, arm, servers, beside=others)

    try:
        async with asyncio.TaskGroup() as group:
            for arm in arms:
                group.create_task(start(arm))
    except ExceptionGroup as several:
        raise _gravest(several.exceptions) from None
    return {arm: started[arm] for arm in arms if arm in started}


def _gravest(several: Sequence[Exception]) -> Exception:
    """Return an arm that is not what it claims before anything else: that is what the user must know."""
    return next((each for each in several if isinstance(each, ArmMismatch)), several[0])


async def _warmed(losses: Losses, started: dict[str, RunningArm]) -> dict[str, RunningArm]:
    """Warm one arm after the other, when all are up: beside a start no pace is an arm's own."""
    running: dict[str, RunningArm] = {}
    for arm, served in started.items():
        with losses.borne(arm):
            running[arm] = await _warm(losses.stage, served)
    return running


async def _start(stage: Stage, arm: str, servers: AsyncExitStack, beside: int = 0) -> RunningArm:
    study = stage.study
    stage.listen(ArmStarting(arm))
    wanted = able_to_sleep(study.arms[arm]) if study.arms_together == "sleep" else study.arms[arm]
    circumstances = Circumstances(profiled=study.profile is not None, beside=beside)
    serving = serve_arm(arm, wanted, stage.writer.folder, study.limits, circumstances)
    running = await unless(stage.stop, servers.enter_async_context(serving))
    stage.writer.arm(running.record)
    stage.listen(ArmReady(arm, running.ready_seconds, _facts_line(running.record)))
    return running


async def _warm(stage: Stage, running: RunningArm) -> RunningArm:
    """Warm the arm; return it as its answers showed it."""
    stage.listen(WarmingUp(running.record.arm))
    async with told_by_the_log(running):
        warmth = await unless(stage.stop, warm_up(stage.study, running, stage.crew, stage.cells_ended))
    stage.writer.arm(_as_warmed(running.record, warmth))
    return replace(running, tells_usage=warmth.tells_usage)


@asynccontextmanager
async def told_by_the_log(running: RunningArm) -> AsyncIterator[None]:
    """Replace what a client sees of a dying server by what the server's log says."""
    try:
        yield
    except ServerNotReady as failure:
        raise (await running.fleet.death() or failure) from failure


def _as_warmed(record: ArmRecord, warmth: Warmth) -> ArmRecord:
    return replace(
        record, warm_up_tpot_ms=warmth.medians_ms, warm_up_stable=warmth.stable, warm_up_s=round(warmth.seconds, 3)
    )


def _facts_line(record: ArmRecord) -> str:
    """Return what a person wants to see when an arm comes up."""
    facts = {name: fact.value for name, fact in record.replicas[0].facts.items() if fact.value is not None}
    quantised = facts.get("activation_quantization_effective") is True
    shown = _SHOWN | ({"dtype": _all_else_in} if quantised else {})
    return joined(", ", (say(facts[name]) for name, say in shown.items() if name in facts))


def _kernel(value: Any) -> Phrase:
    return phrase("kernel {kernel}", kernel=", ".join(value) if isinstance(value, list) else value)


def _all_else_in(value: Any) -> Phrase:
    """Name the type of the rest: of what is quantised at run time it is not the computation's."""
    return phrase("int8 activations (verified by a probe), all else in {dtype}", dtype=value)


_SHOWN: dict[str, Callable[[Any], Phrase]] = {
    "model_memory_gib": lambda value: phrase("weights {gib:.2f} GiB", gib=value),
    "kv_cache_tokens": lambda value: phrase("KV cache {tokens:,} tokens", tokens=value),
    "dtype": lambda value: phrase("computes in {dtype}", dtype=value),
    "quant_kernels": _kernel,
    "started_beside": lambda value: phrase("started beside {others} more", others=value),
}
