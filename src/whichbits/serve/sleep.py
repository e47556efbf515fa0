"""Servers that sleep: their memory is given back, and they answer again when they are woken.

vLLM's sleep mode at level 1: weights go to the processor's memory and the KV cache is dropped. Its endpoints exist in
developer mode only, in which whichbits starts it.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from whichbits.errors import BadInput, ServerNotReady
from whichbits.hardware.nvidia_smi import used_memory_mib
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import engine
from whichbits.study.arm import Arm

PATIENCE_S = 300.0
"""Weights of some hundred GiB travel to the processor's memory in less."""

_EVERY_S = 0.2
_LEAST_SHARE = 0.5
"""Of the weights' memory, what must be seen to come free: others may take some meanwhile."""


@dataclass(frozen=True)
class Slept:
    """What going to sleep gave back on the cards, None where nobody can say."""

    freed_mib: float | None


def refuse_sleepless(name: str, arm: Arm) -> None:
    """Raise BadInput ``engine_cannot_sleep`` if the arm's engine has no sleep mode."""
    if engine(arm.engine).sleep_option is None:
        raise BadInput(
            "engine_cannot_sleep",
            f"arm {name!r}: servers of {arm.engine} cannot be put to sleep",
            why="arms_together: sleep needs an engine that gives its memory back and takes it again: vLLM's sleep mode",
            fix="leave arms_together out, so that arms are started one after the other, or use the engine vllm",
        )


def able_to_sleep(arm: Arm) -> Arm:
    """Return the arm with its engine's sleep mode switched on."""
    option = engine(arm.engine).sleep_option
    return arm if option is None else arm.model_copy(update={"options": arm.options | {option: True}})


async def put_to_sleep(running: RunningArm, used_mib: Callable[[], float | None] = used_memory_mib) -> Slept:
    """Put every replica to sleep and wait until each says so.

    Raises:
        ServerNotReady: ``sleep_refused`` if one does not, ``sleep_frees_nothing`` if the cards stay as full.
    """
    before = await asyncio.to_thread(used_mib)
    await _ask_all(running, "/sleep?level=1", asleep=True)
    after = await asyncio.to_thread(used_mib)
    if before is None or after is None:
        return Slept(None)
    freed = before - after
    if freed < _LEAST_SHARE * _weights_mib(running):
        raise _frees_nothing(running, freed)
    return Slept(freed)


async def wake(running: RunningArm) -> None:
    """Wake every replica and wait until each says so. Raises ServerNotReady ``sleep_refused``."""
    await _ask_all(running, "/wake_up", asleep=False)


async def _ask_all(running: RunningArm, path: str, *, asleep: bool) -> None:
    for replica in running.fleet.replicas:
        async with ControlClient(replica.control.url, timeout_seconds=PATIENCE_S) as control:
            answer = await control.post(path)
            if answer != 200 or not await _comes_to(control, asleep=asleep):
                raise _refused(running, replica.name, path, answer)


async def _comes_to(control: ControlClient, *, asleep: bool) -> bool:
    """Wait until the server says that it sleeps, or that it does not; False if it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        said = await control.json("/is_sleeping")
        if not isinstance(said, dict) or "is_sleeping" not in said:
            return False
        if said["is_sleeping"] is asleep:
            return True
        await asyncio.sleep(_EVERY_S)
    return False


def _weights_mib(running: RunningArm) -> float:
    facts = (replica.facts.get("model_memory_gib") for replica in running.record.replicas)
    return sum(1024 * fact.value for fact in facts if fact is not None and isinstance(fact.value, int | float))


def _refused(running: RunningArm, replica: str, path: str, status: int) -> ServerNotReady:
    return ServerNotReady(
        "sleep_refused",
        f"{running.record.arm}: replica {replica} did not do what POST {path} asks (HTTP {status})",
        why="the engine is older than its sleep mode, was started without it, or its device has none",
        fix="use vLLM 0.8 or later on a GPU, or leave arms_together: sleep out",
    )


def _frees_nothing(running: RunningArm, freed_mib: float) -> ServerNotReady:
    return ServerNotReady(
        "sleep_frees_nothing",
        f"{running.record.arm}: it says that it sleeps, but the cards hold only {freed_mib:.0f} MiB less",
        why="the device has no sleep mode, or another process took the memory at once",
        fix="look at nvidia-smi while it sleeps; leave arms_together: sleep out",
    )
