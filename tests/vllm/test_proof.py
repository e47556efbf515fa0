"""A real vLLM with real INT8 kernels is believed where it is what it claims, and stops the study where it is not."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.tool import AS_INSTALLED, run_of, states, tool
from tests.vllm.studies import arm, write_study
from tests.vllm.tiny_qwen2 import write_tiny_qwen2

pytestmark = pytest.mark.vllm

_INT8: dict[str, Any] = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False},
            "input_activations": {
                "num_bits": 8,
                "type": "int",
                "symmetric": True,
                "strategy": "token",
                "dynamic": True,
            },
        }
    },
}


def test_an_int8_arm_is_measured_and_its_twin_that_claims_fp8_ends_the_study(tmp_path: Path, vllm_python: Path) -> None:
    model = write_tiny_qwen2(tmp_path / "tiny-int8", quantization_config=_INT8)
    arms = {name: arm(vllm_python, model, weight_format=f"w8a8-{kind}") for name, kind in (("a", "int8"), ("b", "fp8"))}
    study = write_study(tmp_path, arms, loads=[{"concurrency": 4}], cell={"requests": 8})

    with tool(tmp_path, "run", study, program=AS_INSTALLED) as running:
        assert running.wait() == 7
        assert running.leaves_nothing_behind()

        told = " ".join(running.stderr.split())
        assert "arm 'b' is not what it claims to be" in told
        assert "CPUInt8ScaledMMLinearKernel ran for CompressedTensorsW8A8Int8" in told
    run = run_of(tmp_path)
    assert states(run) == ["done", "skipped"]
    (honest,) = run.manifest.arms["a"].replicas
    assert honest.facts["quant_kernels"].value == "CPUInt8ScaledMMLinearKernel"
    assert run.manifest.arms["a"].checkpoint["linear_bits"].value == 8
