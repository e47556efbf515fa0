"""GPUs are sampled by a process of its own, through a driver's library that the test compiles."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.hardware.fake_nvml import compile_nvml
from whichbits.record.schema import ArmRecord, Fact, ReplicaRecord
from whichbits.record.telemetry import SCHEMA, read_telemetry
from whichbits.serve.watch.meter import Meter, metered_devices
from whichbits.study.arm import Arm


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(compile_nvml(tmp_path_factory.mktemp("nvml")))


async def sampled(folder: Path, library: str, *devices: str) -> list[dict[str, Any]]:
    """Sample cell 3 until there is something, and return the rows."""
    async with Meter(devices, folder, time.monotonic_ns(), interval_seconds=0.01, library=library) as meter:
        assert meter.runs
        await meter.begin(3)
        path = folder / "telemetry" / "0003.jsonl"
        async with asyncio.timeout(30):
            while path.read_text().count("\n") < 4:  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.01)
        assert await meter.pause() is None
    return read_telemetry(folder).to_pylist()


async def test_a_gpu_is_sampled_in_the_units_of_the_columns(tmp_path: Path, library: str) -> None:
    first, second, *_ = await sampled(tmp_path, library, "0")

    expected = {
        "cell": 3,
        "gpu": 0,
        "uuid": "GPU-aaaa-0",
        "power_w": 71.5,
        "power_limit_w": 72.0,
        "energy_j": 1000.5,
        "sm_clock_mhz": 1530,
        "sm_clock_max_mhz": 2040,
        "memory_clock_mhz": 6251,
        "temperature_c": 60,
        "memory_used_bytes": 20 * 2**30,
        "utilisation": 0.97,
        "throttle_reasons": 4,
    }
    assert {name: first[name] for name in expected} == expected
    assert set(first) == set(SCHEMA.names)
    assert second["time_ns"] > first["time_ns"] > 0


@pytest.mark.parametrize(("devices", "gpus"), [(("1",), {1}), (("GPU-bbbb",), {1}), (("1", "0"), {0, 1})])
async def test_only_the_arms_own_gpus_are_sampled(
    tmp_path: Path, library: str, devices: tuple[str, ...], gpus: set[int]
) -> None:
    rows = await sampled(tmp_path, library, *devices)

    assert {row["gpu"] for row in rows} == gpus
    assert {row["power_w"] for row in rows if row["gpu"] == 1} == {None}  # it does not tell, which is not 0


async def test_without_a_driver_nothing_is_sampled(tmp_path: Path) -> None:
    async with Meter(["0"], tmp_path, 0, library="libno-such-driver.so") as meter:
        await meter.begin(0)
        assert not meter.runs
        assert await meter.pause() is None
    assert len(read_telemetry(tmp_path)) == 0


async def test_a_meter_that_dies_is_told(tmp_path: Path, library: str) -> None:
    async with Meter(["0"], tmp_path, 0, library=library) as meter:
        assert meter.pid is not None
        await meter.begin(0)
        os.kill(meter.pid, signal.SIGKILL)
        assert await meter.pause() == "the meter of the GPUs broke off: its process died"


def devices(environments: list[dict[str, str]], ours: dict[str, str], device: str = "cuda", **arm: Any) -> Any:
    plain = {"weight_format": "fp16", "model": "m", "engine": "vllm"}
    replicas = tuple(
        ReplicaRecord(str(index), (), each, "http://x", 1.0, None, {"device": Fact(device, "log")})
        for index, each in enumerate(environments)
    )
    return metered_devices(Arm.model_validate(plain | arm), ArmRecord("a", "fp16", "vllm", {}, replicas), ours)


def test_the_servers_own_variable_says_which_gpus_are_the_arms() -> None:
    visible = [{"CUDA_VISIBLE_DEVICES": "2"}, {"CUDA_VISIBLE_DEVICES": "3"}, {"CUDA_VISIBLE_DEVICES": "2"}]

    assert devices(visible, {}) == ("2", "3")
    assert devices([{}], {"CUDA_VISIBLE_DEVICES": "GPU-bbbb,GPU-aaaa"}) == ("GPU-bbbb",)
    assert devices([{}], {}, tensor_parallel_size=2) == ("0", "1")


def test_servers_without_gpus_here_are_not_metered() -> None:
    assert devices([{}], {}, device="cpu") == ()
    assert devices([{}], {}, engine="embedded") == ()
    assert devices([{}], {}, target={"urls": ["http://elsewhere:8000"]}) == ()
