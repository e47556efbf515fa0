"""Which kernel a format gets, as engines' logs say it."""

import pytest

from whichbits.errors import BadInput
from whichbits.predict.deployment.engine_version import EngineVersion
from whichbits.predict.deployment.kernels import Capability, architecture_of, kernel_of
from whichbits.predict.deployment.models import checkpoint_of
from whichbits.study.arm import Arm, WeightFormat


def kernel(
    weight_format: WeightFormat,
    capability: Capability,
    version: str,
    model: str = "qwen3-8b",
    quantization: str | None = None,
) -> str:
    arm = Arm(weight_format=weight_format, model=model, quantization=quantization)
    found = kernel_of(checkpoint_of(arm), arm, capability, EngineVersion.of(version))
    return found.name or found.family


@pytest.mark.parametrize(
    ("weight_format", "capability", "version", "expected"),
    [
        ("bf16", (8, 0), "0.11.0", "dense"),
        ("w8a8-fp8", (8, 9), "0.27.1", "CutlassFP8ScaledMMLinearKernel"),
        ("w8a8-fp8", (9, 0), "0.25.1", "CutlassFP8ScaledMMLinearKernel"),
        ("w8a8-fp8", (9, 0), "0.11.0", "CutlassScaledMMLinearKernel"),
        ("w8a8-fp8", (8, 0), "0.25.1", "MarlinFP8ScaledMMLinearKernel"),
        ("w8a8-int8", (8, 0), "0.25.1", "CutlassInt8ScaledMMLinearKernel"),
        ("w4a16", (8, 9), "0.27.1", "MarlinLinearKernel"),
        ("w4a16", (9, 0), "0.25.1", "MacheteLinearKernel"),
        ("w4a16", (12, 0), "0.25.1", "MarlinLinearKernel"),
        ("w4a16", (7, 5), "0.15.1", "MarlinLinearKernel"),
        ("w4a16", (7, 5), "0.11.0", "ExllamaLinearKernel"),
    ],
)
def test_the_kernel_by_format_capability_and_version(
    weight_format: WeightFormat, capability: Capability, version: str, expected: str
) -> None:
    assert kernel(weight_format, capability, version) == expected


def test_awq_on_hopper_goes_to_marlin_until_the_chooser_took_it_over() -> None:
    assert kernel("w4a16", (9, 0), "0.15.1", "qwen3-8b-awq") == "MarlinLinearKernel"
    assert kernel("w4a16", (9, 0), "0.25.1", "qwen3-8b-awq") == "MacheteLinearKernel"


def test_a_method_that_is_forced_is_the_slow_one_up_to_0_15() -> None:
    assert kernel("w4a16", (8, 0), "0.11.0", "qwen3-8b-awq", quantization="awq") == "awq"
    assert kernel("w4a16", (8, 0), "0.25.1", "qwen3-8b-awq", quantization="awq") == "MarlinLinearKernel"


def test_what_has_no_kernel_is_refused_with_what_has_one() -> None:
    with pytest.raises(BadInput) as refused:
        kernel("w8a8-int8", (12, 0), "0.25.1")
    assert refused.value.code == "kernel_impossible"
    assert "w8a8-fp8" in refused.value.fix


def test_volta_has_no_constants() -> None:
    with pytest.raises(BadInput, match=r"7\.0"):
        architecture_of((7, 0))


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean qwen3-8b"):
        checkpoint_of(Arm(weight_format="bf16", model="Qwen/Qwen3-8"))


@pytest.mark.parametrize(
    ("model", "layers", "hidden"),
    [
        ("Qwen/Qwen3-8B-FP8-dynamic", 36, 4096),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", 32, 4096),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 48, 5120),
        ("models/qwen2.5-7b-w8a8-int8", 28, 3584),
    ],
)
def test_a_models_name_begins_with_its_shapes(model: str, layers: int, hidden: int) -> None:
    found = checkpoint_of(Arm(weight_format="bf16", model=model))
    assert (found.layers, found.hidden) == (layers, hidden)
