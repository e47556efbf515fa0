"""The meter of an arm's GPUs: power, clocks, temperature and throttling while cells run, sampled by another process."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from whichbits.hardware import nvml_meter
from whichbits.record.schema import ArmRecord
from whichbits.record.telemetry import samples_path
from whichbits.serve.process.sidecar import end, started, tell
from whichbits.study.arm import Arm

INTERVAL_SECONDS = 0.5
LIBRARY = "libnvidia-ml.so.1"
_ANSWER_SECONDS = 10.0
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_WITHOUT_GPUS = frozenset({"embedded", "mock"})


def metered_devices(arm: Arm, record: ArmRecord, ours: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs of an arm's servers as CUDA_VISIBLE_DEVICES names them; none if they have none on this machine.

    Where nothing says which, an engine takes the first that it sees.
    """
    on_processor = any(
        fact is not None and fact.value == "cpu" for fact in (each.facts.get("device") for each in record.replicas)
    )
    if arm.target is not None or arm.engine in _WITHOUT_GPUS or on_processor:
        return ()
    first = ",".join(str(index) for index in range(arm.tensor_parallel_size or 1))
    named = [_first(each.environment.get(_VISIBLE) or ours.get(_VISIBLE) or first, arm) for each in record.replicas]
    return tuple(dict.fromkeys(device for devices in named for device in devices))


def _first(devices: str, arm: Arm) -> Sequence[str]:
    return [device.strip() for device in devices.split(",")][: arm.tensor_parallel_size or 1]


class Meter:
    """Samples ``devices`` between ``begin`` and ``pause``; an async context manager.

    Where there is no NVIDIA driver, or no devices, nothing is started and nothing sampled. The process ends with us.
    """

    def __init__(
        self,
        devices: Sequence[str],
        folder: Path,
        origin_ns: int,
        interval_seconds: float = INTERVAL_SECONDS,
        library: str = LIBRARY,
    ) -> None:
        """``folder`` is the run's; ``origin_ns`` a ``time.monotonic_ns()`` from which samples' times count."""
        self._devices = devices
        self._folder = folder
        self._setup = {"origin_ns": origin_ns, "interval_seconds": interval_seconds, "library": library}
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        if not self._devices:
            return self
        self._process = await started(nvml_meter.__file__)
        answer = await self._ask({**self._setup, "devices": list(self._devices)})
        if not answer.get("gpus"):
            await self._end()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    @property
    def runs(self) -> bool:
        """Whether there is anything to sample."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """The process's, None if there is none."""
        return None if self._process is None else self._process.pid

    async def begin(self, cell: int) -> None:
        """Sample for ``cell`` from now on."""
        if self._process is not None:
            await tell(self._process, {"start": cell, "path": str(samples_path(self._folder, cell))})

    async def pause(self) -> str | None:
        """Stop sampling; return what went wrong, None if nothing did."""
        if self._process is None:
            return None
        answer = await self._ask({"pause": True})
        error = answer.get("error", "its process died")
        return None if error is None else f"the meter of the GPUs broke off: {error}"

    async def _ask(self, order: dict[str, object]) -> dict[str, Any]:
        """Return the answer to an order; empty if the process died or is silent."""
        await tell(self._process, order)
        if self._process is None or self._process.stdout is None:
            return {}
        line = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                line = await self._process.stdout.readline()
        return msgspec.json.decode(line, type=dict[str, Any]) if line else {}

    async def _end(self) -> None:
        process, self._process = self._process, None
        await end(process)
