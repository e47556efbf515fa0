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
INT8 = {
    "quant_method": "compressed-tensors",
    "config_groups": {
        "all": {
            "weights": {"num_bits": 8, "type": "int", "strategy": "channel"},
            "input_activations": {"num_bits": 8, "type": "int", "dynamic": True},
        }
    },
}
AWQ_8 = {"quant_method": "awq", "bits": 8, "group_size": 128, "zero_point": True}
DEEPSEEK_FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
BLOCK_FP8 = "Selected CutlassFp8BlockScaledMMKernel for Fp8LinearMethod"
NVFP4 = {
    "quant_method": "compressed-tensors",
    "config_groups": {
        "all": {
            "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
            "input_activations": {"num_bits": 4, "type": "float", "dynamic": "local"},
        }
    },
}
FP4_FALLBACK = (
    "Your GPU does not have native support for FP4 computation but FP4 quantization is being used. "
    "Weight-only FP4 compression will be used leveraging the Marlin kernel."
)
NATIVE_FP4 = "Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM"
WIDE_FP4 = "Using FlashInferCuteDslNvFp4W4A16LinearKernel for NVFP4 GEMM"
MARLIN_FP4 = "Using NvFp4LinearBackend.MARLIN for NVFP4 GEMM"
NARROW_MARLIN = "Using MarlinLinearKernel for CompressedTensorsW4A8Int"
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
W4A8 = {
    "quant_method": "compressed-tensors",
    "config_groups": {
        "all": {
            "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128},
            "input_activations": {"num_bits": 8, "type": "int", "dynamic": True},
        }
    },
}
DRAFTER = "non-default args: {'speculative_config': {'method': 'eagle3', 'model': '/models/eagle-fp8'}}"
OFFLOADED = "non-default args: {'model': '/models/q', 'cpu_offload_gb': 4.0, 'enable_lora': False}"
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
        ("w8a8-int8", INT8, log(method="compressed-tensors", gib="8.18")),
        ("w8a16", AWQ_8, log("Using MarlinLinearKernel for AWQMarlinLinearMethod", method="awq_marlin", gib="8.4")),
        ("w8a8-fp8", DEEPSEEK_FP8, log(BLOCK_FP8, method="fp8", gib="8.2")),
        ("w4a16", NVFP4, log(FP4_FALLBACK, method="compressed-tensors", gib="5.5")),
        ("w4a16", NVFP4, log(WIDE_FP4, method="compressed-tensors", gib="5.5")),
        ("w4a16", NVFP4, log(MARLIN_FP4, FP4_FALLBACK, method="compressed-tensors", gib="5.5")),
        ("w4a16", PACKED, log(MARLIN, CUTLASS_FP8, method="compressed-tensors", gib="5.2")),  # some layers in FP8
        ("w4a16", None, log(method="bitsandbytes", gib="5.6")),
        ("w4a16", NF4, log(method="bitsandbytes", gib="5.6")),
        ("w4a8-int8", W4A8, log(NARROW_MARLIN, method="compressed-tensors", gib="5.2")),
        ("bf16", None, log(DRAFTER, CUTLASS_FP8, method=None, gib="15.1")),  # the drafter is the narrow one
        ("w4a16", GPTQ, log(OFFLOADED, method="gptq_marlin", gib="1.3")),
    ],
)
def test_an_arm_that_is_what_it_claims(
    tmp_path: Path, weight_format: str, quantization: dict[str, Any] | None, said: dict[str, Fact]
) -> None:
    assert reasons(weight_format, checkpoint(tmp_path, quantization), said) == []


GPTQ_MARLIN = log("Using MarlinLinearKernel for GPTQMarlinLinearMethod", method="gptq_marlin", gib="5.26")


@pytest.mark.parametrize(
    ("weight_format", "marlin_input", "reason"),
    [
        ("w4a16", None, ""),
        ("w4a16", "int8", "8-bit int8 activations"),
        ("w4a8-int8", "int8", ""),
        ("w4a8-int8", "fp8", "8-bit fp8 activations"),
        ("w4a8-int8", None, "quantises weights only"),
    ],
)
def test_marlin_multiplies_with_what_its_server_was_told(
    tmp_path: Path, weight_format: str, marlin_input: str | None, reason: str
) -> None:
    told = {} if marlin_input is None else {"VLLM_MARLIN_INPUT_DTYPE": marlin_input}
    found = reasons(weight_format, checkpoint(tmp_path, GPTQ), GPTQ_MARLIN, environment=told)

    assert reason in "; ".join(found) if reason else found == []


def test_our_own_environment_reaches_servers_of_ours_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_MARLIN_INPUT_DTYPE", "int8")
    files = checkpoint(tmp_path, GPTQ)

    assert reasons("w4a16", files, GPTQ_MARLIN)
    assert reasons("w4a16", files, GPTQ_MARLIN, target="http://127.0.0.1:1") == []


@pytest.mark.parametrize("weight_format", ["w4a8-int8", "w4a16"])
def test_marlin_for_layers_that_ask_for_8_bits_says_nothing_of_activations(weight_format: str) -> None:
    assert reasons(weight_format, {}, log(NARROW_MARLIN, method="compressed-tensors", gib=None)) == []


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
        ("w8a8-int8", FP8, log(method="compressed-tensors", gib="8.18"), "the checkpoint's weights are fp8 numbers"),
        ("w8a8-fp8", INT8, log(method="compressed-tensors", gib="8.18"), "the checkpoint's weights are int8 numbers"),
        ("w8a8-int8", None, log(method="fp8", gib="8.2"), "method fp8 computes in fp8"),
        ("w8a8-fp8", None, log(method="bitsandbytes", gib="8.2"), "method bitsandbytes computes in int8"),
        ("w4a8-int8", NF4, log(method="bitsandbytes", gib="5.6"), "config quantises weights only"),
        ("w4a8-int8", PACKED, log(MARLIN, method="compressed-tensors", gib="5.2"), "with 16-bit activations"),
        ("w8a8-int8", DEEPSEEK_FP8, log(BLOCK_FP8, method="fp8", gib="8.2"), "8-bit fp8 activations"),
        ("w8a16", GPTQ, log(method="awq_marlin", gib="5.2"), "method awq_marlin has 4"),
        ("w4a16", AWQ_8, log(method="awq_marlin", gib="8.4"), "method awq_marlin has 8"),
        ("w4a16", NVFP4, log(NATIVE_FP4, method="compressed-tensors", gib="5.5"), "4-bit fp4 activations"),
        ("w4a16", NVFP4, log(method="compressed-tensors", gib="5.5"), "the checkpoint asks for 4-bit ones"),
        (
            "w4a16",
            GPTQ,
            log("non-default args: {'enable_lora': False}", method="auto_gptq", gib="14.29"),
            "16 bits, not 4",
        ),
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


TIED = {"hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2}


@pytest.mark.parametrize("spare_gib", [0, 0.435])
def test_a_tied_head_that_the_files_hold_all_the_same_is_not_loaded(tmp_path: Path, spare_gib: float) -> None:
    """Qwen2.5-1.5B in 8 bits: 1.22 GiB of linear layers and 0.435 of embedding; 8 bits and a head less look like 4."""
    files = checkpoint(tmp_path, INT8, **TIED, tie_word_embeddings=True)
    spare = round(spare_gib * 2**30)
    stored = files | {"total_bytes": Fact(int(str(files["total_bytes"].value)) + spare, "")}

    assert reasons("w8a8-int8", stored, log(method="compressed-tensors", gib="1.67")) == []
    (reason,) = reasons("w8a8-int8", stored, log(method="compressed-tensors", gib="2.88"))
    assert "16 bits, not 8" in reason


@pytest.mark.parametrize("gib", ["1.62", "2.6"])  # a rank's part with the encoder spread over four, or whole in each
def test_an_encoder_may_lie_whole_on_every_gpu(tmp_path: Path, gib: str) -> None:
    """5.19 GiB in 4 bits and 1.3 of encoder: 6.5 on four GPUs together, or 10.4; 16 bits are 15.6, or 19.5."""
    assert reasons("w4a16", seeing(tmp_path, 1.3), log(method="gptq_marlin", gib=gib, tp=4)) == []


@pytest.mark.parametrize("gib", ["3.9", "4.88"])
def test_an_encoder_hides_no_wrong_width(tmp_path: Path, gib: str) -> None:
    found = reasons("w4a16", seeing(tmp_path, 1.3), log(method="auto_gptq", gib=gib, tp=4))

    assert "16 bits, not 4" in "; ".join(found)


def seeing(folder: Path, encoder_gib: float) -> dict[str, Fact]:
    files = checkpoint(folder, GPTQ)
    extra = round(encoder_gib * 2**30)
    total = int(str(files["total_bytes"].value)) + extra
    return files | {"encoder_bytes": Fact(extra, ""), "total_bytes": Fact(total, "")}


def test_16_bit_files_may_be_narrowed_by_vllm_but_not_without_a_method(tmp_path: Path) -> None:
    files = checkpoint(tmp_path, None)

    assert reasons("w8a8-fp8", files, log(method="fp8", gib="8.18")) == []
    assert "declares 16-bit linear layers" in "; ".join(reasons("w8a8-fp8", files, log(method=None, gib="14.29")))


def test_16_bit_files_contradict_a_narrow_claim_where_the_server_is_silent(tmp_path: Path) -> None:
    """Over HTTP most servers tell no method; only somebody who names one makes narrowing more than a guess."""
    files, running = checkpoint(tmp_path, None), "http://127.0.0.1:1"
    (reason,) = reasons("w4a16", files, {}, target=running)

    assert "the checkpoint declares 16-bit linear layers, and nothing says" in reason
    assert reasons("w8a8-fp8", files, {}, target=running, quantization="fp8") == []
    assert reasons("w8a8-fp8", files, {"quantization": Fact("fp8", "GET /server_info")}, target=running) == []
    assert reasons("bf16", files, {}, target=running) == []
