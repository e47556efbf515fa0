"""An arm is what it claims, or the reasons say why not; what nobody said decides nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from whichbits.record.schema import Fact
from whichbits.serve.vllm.engine import VllmEngine
from whichbits.serve.vllm.facts import log_facts
from whichbits.study.arm import Arm

# The shape of Qwen2.5-7B: 6,525,288,448 weights in linear layers, 1,090,328,064 more in embedding, head and the rest.
SHAPE: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}
GPTQ_8 = GPTQ | {"bits": 8}
FP8 = {
    "quant_method": "compressed-tensors",
    "config_groups": {
        "all": {
            "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
            "input_activations": {"num_bits": 8, "type": "float", "dynamic": True},
        }
    },
}
PACKED = {
    "quant_method": "compressed-tensors",
    "config_groups": {"all": {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}}},
}
CUTLASS_FP8 = "Selected CutlassFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8"
MARLIN_FP8 = "Selected MarlinFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8"
MARLIN = "Using MarlinLinearKernel for CompressedTensorsWNA16"
FALLBACK = (
    "Your GPU does not have native support for FP8 computation but FP8 quantization is being used. "
    "Weight-only FP8 compression will be used leveraging the Marlin kernel."
)


def log(*lines: str, method: str | None, gib: str | None, dtype: str = "bfloat16", tp: int = 1) -> dict[str, Fact]:
    """Facts of a short log in vLLM 0.25's shape."""
    config = (
        f"Initializing a V1 LLM engine (v0.25.1) with config: model='/models/q', dtype=torch.{dtype}, "
        f"max_seq_len=4096, tensor_parallel_size={tp}, pipeline_parallel_size=1, data_parallel_size=1, "
        f"quantization={method}, enforce_eager=False, kv_cache_dtype=auto, seed=0"
    )
    said = [config, *lines]
    text = [f"(EngineCore pid=7) INFO 11-29 15:01:21 [core.py:114] {line}" for line in said]
    if gib is not None:
        names = ["EngineCore pid=7"] if tp == 1 else [f"Worker_TP{rank} pid={8 + rank}" for rank in range(tp)]
        loaded = f"INFO 11-29 15:01:24 [model_runner.py:302] Model loading took {gib} GiB and 1.765577 seconds"
        text += [f"({name}) {loaded}" for name in names]
    return log_facts("\n".join(text))


def checkpoint(folder: Path, quantization: dict[str, Any] | None, **changes: Any) -> dict[str, Fact]:
    config = SHAPE | changes | ({} if quantization is None else {"quantization_config": quantization})
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return VllmEngine().prepare(arm("bf16", model=str(folder), target="http://127.0.0.1:1")).checkpoint


def arm(weight_format: str, **keys: Any) -> Arm:
    plain = {"weight_format": weight_format, "engine": "vllm", "model": "owner/name"}
    return Arm.model_validate(plain | keys)


def reasons(weight_format: str, files: dict[str, Fact], said: dict[str, Fact], **keys: Any) -> list[str]:
    return VllmEngine().verify(arm(weight_format, **keys), files, said)


@pytest.mark.parametrize(
    ("weight_format", "quantization", "said"),
    [
        ("bf16", None, log(method=None, gib="14.29")),
        ("fp16", None, log(method=None, gib="14.29", dtype="float16")),
        ("bf16", None, log(method=None, gib="7.17", tp=2)),
        ("w8a8-fp8", FP8, log(CUTLASS_FP8, method="compressed-tensors", gib="8.18")),
        ("w8a8-fp8", None, log("Selected CutlassFP8ScaledMMLinearKernel for Fp8LinearMethod", method="fp8", gib="8.2")),
        ("w8a16", FP8, log(FALLBACK, MARLIN_FP8, method="compressed-tensors", gib="8.18")),
        ("w8a16", GPTQ_8, log(method="gptq_marlin", gib="8.3")),
        ("w4a16", GPTQ, log("Using MacheteLinearKernel for GPTQMarlinLinearMethod", method="gptq_marlin", gib="5.26")),
        ("w4a16", GPTQ, log(method="gptq", gib="5.3", dtype="float16")),  # plain and slow, but what it claims
        ("w4a16", PACKED, log(MARLIN, method="compressed-tensors", gib="2.65", tp=2)),
    ],
)
def test_an_arm_that_is_what_it_claims(
    tmp_path: Path, weight_format: str, quantization: dict[str, Any] | None, said: dict[str, Fact]
) -> None:
    assert reasons(weight_format, checkpoint(tmp_path, quantization), said) == []


def test_a_gptq_arm_that_vllm_loads_with_16_bits(tmp_path: Path) -> None:
    """What vLLM 0.25.1 did on an H200: the method accepted, no kernel named, 14.29 GiB loaded."""
    (reason,) = reasons("w4a16", checkpoint(tmp_path, GPTQ), log(method="auto_gptq", gib="14.29", dtype="float16"))

    assert "16 bits, not 4" in reason
    assert "14.29 GiB" in reason
    assert "5.19 GiB are expected" in reason


@pytest.mark.parametrize(
    ("weight_format", "quantization", "said", "reason"),
    [
        ("w4a16", GPTQ, log(method="auto_gptq", gib="7.15", tp=2), "16 bits, not 4: the model takes 14.30 GiB"),
        ("w4a16", FP8, log(method=None, gib=None), "vLLM says quantization=None"),
        ("w4a16", FP8, log(method="compressed-tensors", gib="8.18"), "8 bits, not 4"),
        ("w4a16", GPTQ, log(method="fp8", gib=None), "vLLM's method fp8 has 8"),
        ("w4a16", GPTQ_8, log(method="gptq_marlin", gib=None), "the checkpoint declares 8-bit linear layers"),
        ("w8a8-fp8", FP8, log(FALLBACK, method="compressed-tensors", gib="8.18"), "which is w8a16"),
        ("w8a8-fp8", FP8, log(MARLIN_FP8, method="compressed-tensors", gib="8.18"), "8-bit weights with 16-bit"),
        ("w8a8-int8", FP8, log(CUTLASS_FP8, method="compressed-tensors", gib="8.18"), "8-bit fp8 activations"),
        ("w8a8-int8", GPTQ_8, log(method="gptq_marlin", gib="8.3"), "gptq config quantises weights only"),
        ("w4a8-int8", PACKED, log(method="compressed-tensors", gib="5.2"), "config quantises weights only"),
        ("w8a16", FP8, log(method="compressed-tensors", gib="8.18"), "the checkpoint asks for 8-bit ones"),
        (
            "bf16",
            None,
            log(method=None, gib="14.29", dtype="float16"),
            "bf16 is bfloat16, but vLLM computes in float16",
        ),
        ("fp16", None, log(method=None, gib="14.29"), "fp16 is float16, but vLLM computes in bfloat16"),
        ("bf16", None, log(method="fp8", gib="8.2"), "vLLM quantises them with fp8"),
        ("w4a16", GPTQ, log("Using flashinfer-cutlass for NVFP4 GEMM", method="modelopt_fp4", gib="5.2"), "4-bit fp4"),
    ],
)
def test_an_arm_that_is_not(
    tmp_path: Path, weight_format: str, quantization: dict[str, Any] | None, said: dict[str, Fact], reason: str
) -> None:
    assert reason in "; ".join(reasons(weight_format, checkpoint(tmp_path, quantization), said))


@pytest.mark.parametrize("weight_format", ["bf16", "w8a8-fp8", "w8a8-int8", "w8a16", "w4a16", "w4a8-int8"])
def test_what_nobody_said_decides_nothing(weight_format: str) -> None:
    assert reasons(weight_format, {}, {}) == []
    assert reasons(weight_format, {}, {"model_memory_gib": Fact(14.29, "server log")}) == []


def test_the_log_alone_tells_a_method_that_quantises_weights_only() -> None:
    (reason,) = reasons("w8a8-int8", {}, log(method="auto_gptq", gib=None))

    assert "method auto_gptq quantises weights only" in reason


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        (log(method="auto_gptq", gib=None), {}),
        (log(method="auto_gptq", gib="14.29"), {"options": {"cpu_offload_gb": 4}}),
        (log(method="auto_gptq", gib="14.29"), {"options": {"speculative-config": "{}"}}),
    ],
)
def test_bytes_that_are_not_the_models_alone_decide_nothing(
    tmp_path: Path, said: dict[str, Fact], keys: dict[str, Any]
) -> None:
    assert reasons("w4a16", checkpoint(tmp_path, GPTQ), said, **keys) == []


def test_a_model_too_small_to_tell_its_widths_apart_decides_nothing(tmp_path: Path) -> None:
    """A tenth of a GiB of workspace is more than half a billion weights differ between 8 and 4 bits."""
    tiny = checkpoint(tmp_path, GPTQ, hidden_size=896, intermediate_size=1024, num_hidden_layers=4)

    assert reasons("w4a16", tiny, log(method="gptq_marlin", gib="0.61")) == []


def test_16_bit_files_may_be_narrowed_by_vllm_but_not_without_a_method(tmp_path: Path) -> None:
    files = checkpoint(tmp_path, None)

    assert reasons("w8a8-fp8", files, log(method="fp8", gib="8.18")) == []
    assert "declares 16-bit linear layers" in "; ".join(reasons("w8a8-fp8", files, log(method=None, gib="14.29")))
