"""Write checkpoints that have the shape of a real model and no weights: a config and a tokenizer each.

    python3 studies/h200/make_arms.py FOLDER

With ``load_format: dummy`` vLLM makes the weights up, which costs no download and no disk, and changes no tensor's
size: speed, memory and kernels are those of the real shape. Answers are noise. The standard library suffices.
"""

import json
import sys
from pathlib import Path
from typing import Any

QWEN25_7B: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "bos_token_id": 151643,
    "eos_token_id": 151645,
}
QWEN3_14B: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 5120,
    "intermediate_size": 17408,
    "num_hidden_layers": 40,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "attention_bias": False,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "bos_token_id": 151643,
    "eos_token_id": 151645,
}
LINEAR_MODULES = [
    ["self_attn.k_proj", "self_attn.v_proj", "self_attn.q_proj"],
    ["self_attn.o_proj"],
    ["mlp.up_proj", "mlp.gate_proj"],
    ["mlp.down_proj"],
]


def compressed_tensors(form: str, weights: dict[str, Any], activations: dict[str, Any] | None) -> dict[str, Any]:
    """Return a quantisation config of the compressed-tensors family for every linear layer but the head."""
    group = {"targets": ["Linear"], "weights": weights, "input_activations": activations, "output_activations": None}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        "kv_cache_scheme": None,
        "quantization_status": "compressed",
    }


def eight_bits(kind: str) -> dict[str, Any]:
    """Return W8A8: a scale a channel for weights, a scale a token, made at run time, for activations."""
    weights = {"num_bits": 8, "type": kind, "strategy": "channel", "symmetric": True, "dynamic": False}
    activations = {"num_bits": 8, "type": kind, "strategy": "token", "symmetric": True, "dynamic": True}
    return compressed_tensors(f"{kind}-quantized", weights, activations)


GPTQ = {
    "quant_method": "gptq",
    "bits": 4,
    "group_size": 128,
    "desc_act": False,
    "sym": True,
    "static_groups": False,
    "true_sequential": True,
    "damp_percent": 0.01,
    # Without these names vLLM takes the config and serves 16 bits.
    "modules_in_block_to_quantize": LINEAR_MODULES,
}
AWQ = {
    "quant_method": "awq",
    "bits": 4,
    "group_size": 128,
    "zero_point": True,
    "version": "gemm",
    "modules_to_not_convert": ["lm_head"],
}
ARMS: dict[str, tuple[dict[str, Any], str, dict[str, Any] | None]] = {
    "qwen2.5-7b-fp16": (QWEN25_7B, "float16", None),
    "qwen2.5-7b-w8a8-fp8": (QWEN25_7B, "bfloat16", eight_bits("float")),
    "qwen2.5-7b-w8a8-int8": (QWEN25_7B, "bfloat16", eight_bits("int")),
    "qwen2.5-7b-w4a16-gptq": (QWEN25_7B, "float16", GPTQ),
    "qwen3-14b-bf16": (QWEN3_14B, "bfloat16", None),
    "qwen3-14b-awq": (QWEN3_14B, "float16", AWQ),
}


def tokenizer(vocabulary: int) -> dict[str, Any]:
    """Return a tokenizer in which every id is a word of its own, so that each generated token is seen as text."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {f"w{number}": number for number in range(vocabulary)},
            "unk_token": "w0",
        },
    }


def write_config(folder: Path, shape: dict[str, Any], dtype: str, quantization: dict[str, Any] | None) -> None:
    """Write what is to be known of one checkpoint before it is served."""
    folder.mkdir(parents=True, exist_ok=True)
    config = shape | {"torch_dtype": dtype} | ({"quantization_config": quantization} if quantization else {})
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def write_arm(folder: Path, shape: dict[str, Any], dtype: str, quantization: dict[str, Any] | None) -> None:
    """Write one checkpoint without weights."""
    write_config(folder, shape, dtype, quantization)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(shape["vocab_size"])))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "w0", "model_max_length": 32768}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    for name, arm in ARMS.items():
        write_arm(Path(sys.argv[1]) / name, *arm)
        print(Path(sys.argv[1]) / name)
