"""Configs alone, against what is published of the models and what engines say after loading them."""

from typing import Any

import pytest

from tests.checkpoint.configs import AWQ_INT4, FP8_DYNAMIC, GPTQ_INT4, QWEN3_14B, QWEN25_7B
from whichbits.checkpoint.config import shape_of
from whichbits.checkpoint.read import from_config
from whichbits.errors import BadInput

GIB = 2**30


def test_parameter_counts_are_the_published_ones() -> None:
    assert from_config(QWEN25_7B).parameters == 7_615_616_512
    assert from_config(QWEN3_14B).parameters == 14_768_307_200


@pytest.mark.parametrize(
    ("declared", "loaded_gib"),
    [(None, 14.29), (FP8_DYNAMIC, 8.18), (GPTQ_INT4, 5.27)],
    ids=["fp16", "fp8", "gptq"],
)
def test_bytes_are_within_a_tenth_of_a_gib_of_what_vllm_loads(declared: Any, loaded_gib: float) -> None:
    """The log counts all that loading allocates, so a little more than the tensors."""
    found = from_config(QWEN25_7B | {"quantization_config": declared})

    assert 0.05 < loaded_gib - found.total_bytes / GIB < 0.11


def test_four_bits_cost_their_scales_and_zeros_too() -> None:
    found = from_config(QWEN3_14B | {"quantization_config": AWQ_INT4})

    assert found.effective_bits == pytest.approx(4 + (16 + 4) / 128, rel=1e-6)
    assert found.linear_bits == 4


def test_kv_bytes_of_grouped_query_attention() -> None:
    assert from_config(QWEN25_7B).kv_bytes_per_token() == 2 * 28 * 4 * 128 * 2
    assert from_config(QWEN3_14B).kv_bytes_per_token(1) == 2 * 40 * 8 * 128


def test_kv_bytes_of_latent_attention_are_one_latent_and_one_key_a_layer() -> None:
    """DeepSeek-V2-Lite: 27 layers x (512 + 64) x 2 bytes = 31,104, as its paper's formula gives."""
    config = QWEN25_7B | {
        "model_type": "deepseek_v2",
        "num_hidden_layers": 27,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
    }

    assert from_config(config).kv_bytes_per_token() == 31_104


def test_layers_without_attention_leave_no_kv() -> None:
    kinds = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 7

    assert shape_of(QWEN25_7B | {"layer_types": kinds}).kv_elements_per_token == 2 * 7 * 4 * 128


@pytest.mark.parametrize(
    "config", [{"model_type": "gpt2"}, {"layer_types": ["linear_attention"] * 27 + ["full_attention"]}]
)
def test_layers_of_another_kind_are_not_guessed(config: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as refused:
        from_config(QWEN25_7B | config)

    assert refused.value.code == "checkpoint_shape_unknown"


MIXTRAL = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 2, "num_attention_heads": 32}
MIXTRAL |= {"num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}
QWEN2_MOE = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 3, "num_attention_heads": 16}
QWEN2_MOE |= {"num_key_value_heads": 16, "vocab_size": 151936, "num_experts": 8, "num_experts_per_tok": 4}
QWEN2_MOE |= {"moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}
DEEPSEEK = {"hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 4, "num_attention_heads": 128}
DEEPSEEK |= {"num_key_value_heads": 128, "head_dim": 64, "vocab_size": 129280, "n_routed_experts": 8}
DEEPSEEK |= {"n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "q_lora_rank": 1536}
DEEPSEEK |= {"first_k_dense_replace": 1, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
DEEPSEEK |= {"v_head_dim": 128}


@pytest.mark.parametrize(
    ("model_type", "sizes", "counted"),
    [
        ("mixtral", MIXTRAL, 3_164_688_384),
        ("qwen2_moe", QWEN2_MOE, 984_176_640),
        ("deepseek_v3", DEEPSEEK, 4_187_470_848),
    ],
)
def test_parameter_counts_are_those_of_transformers(model_type: str, sizes: dict[str, int], counted: int) -> None:
    """As transformers 5.19 builds these configs; what is left is a shared expert's gate of one output."""
    config = {"model_type": model_type, "tie_word_embeddings": False, **sizes}

    assert from_config(config).parameters == pytest.approx(counted, rel=1e-5)


def test_a_mixture_of_experts_counts_all_of_them() -> None:
    """Qwen3-30B-A3B: 128 experts of 768, 8 a token; 30.5 B parameters are published."""
    config = QWEN3_14B | {
        "model_type": "qwen3_moe",
        "hidden_size": 2048,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
    }

    found = from_config(config)

    assert found.parameters == pytest.approx(30.5e9, rel=0.002)
    assert found.expert_bytes == 48 * 128 * 3 * 768 * 2048 * 2
    assert found.experts_per_token == 8


def test_a_sliding_window_that_is_switched_off_is_none() -> None:
    assert from_config(QWEN25_7B).sliding_window is None


def test_a_multimodal_config_is_read_by_its_language_model_and_its_familys_defaults() -> None:
    """Gemma 3 4B as published: no heads, no vocabulary. Its language model has 3.88 billion parameters."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    found = from_config(
        {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": text}
    )

    assert found.parameters == pytest.approx(3.88e9, rel=0.001)
    assert (found.heads, found.kv_heads, found.head_dim) == (8, 4, 256)
    assert found.tied_embeddings
    assert found.lm_head_bytes == found.embedding_bytes
