"""Configs alone, against what is published of the models and what engines say after loading them."""

from typing import Any

import pytest

from tests.checkpoint.configs import AWQ_INT4, FP8_DYNAMIC, GPTQ_INT4, QWEN3_14B, QWEN25_7B
from whichbits.checkpoint.read import from_config

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

    assert from_config(QWEN25_7B | {"layer_types": kinds}).kv_bytes_per_token() == 2 * 7 * 4 * 128 * 2


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
