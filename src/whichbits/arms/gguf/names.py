"""What GGUF calls a model's tensors and sizes, in Hugging Face's words, for decoders of the Llama family."""

import re
from collections.abc import Mapping
from typing import Any

from whichbits.errors import BadInput
from whichbits.serve.embedded.weights.gguf_header import GgufHeader, Tensor

_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_INSIDE = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
_DERIVED = ("rope_freqs.weight",)
"""Tensors that the config's numbers give again."""
_ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}


def hugging_face_names(header: GgufHeader) -> dict[str, Tensor]:
    """Return the tensors under the names of transformers.

    Raises:
        BadInput: ``gguf_unsupported`` if the architecture or a tensor is not one that is known here.
    """
    if header.architecture not in _ARCHITECTURES:
        raise _unsupported(f"its architecture is {header.architecture!r}")
    if header.of_architecture("rope.scaling.type") not in (None, "none") or header.of_architecture("expert_count"):
        raise _unsupported("it has experts, or stretched rotary positions")
    if any(tensor.name in _DERIVED for tensor in header.tensors):
        raise _unsupported("its rotary frequencies are a table, whose formula the file does not tell")
    return {_name(tensor.name): tensor for tensor in header.tensors}


def is_rotated(header: GgufHeader, name: str) -> bool:
    """Say whether a tensor's rows are in GGUF's order of rotary pairs, which it has for ``llama`` only."""
    return header.architecture == "llama" and name.rpartition(".")[0].endswith(("q_proj", "k_proj"))


def heads_of(header: GgufHeader, name: str) -> int:
    """Return the heads into which the rows of a query or key projection fall."""
    heads = int(header.of_architecture("attention.head_count"))
    if "k_proj" in name:
        return int(header.of_architecture("attention.head_count_kv") or heads)
    return heads


def config_of(header: GgufHeader, dtype: str) -> dict[str, Any]:
    """Return config.json.

    Raises:
        BadInput: ``gguf_unsupported`` if a size is missing.
    """
    hidden, heads = _size(header, "embedding_length"), _size(header, "attention.head_count")
    base = header.of_architecture("rope.freq_base")
    config: dict[str, Any] = {
        "architectures": [_ARCHITECTURES[header.architecture]],
        "model_type": header.architecture,
        "hidden_size": hidden,
        "intermediate_size": _size(header, "feed_forward_length"),
        "num_hidden_layers": _size(header, "block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": int(header.of_architecture("attention.head_count_kv") or heads),
        "head_dim": int(header.of_architecture("attention.key_length") or hidden // heads),
        "vocab_size": len(header.get("tokenizer.ggml.tokens") or ()) or _size(header, "vocab_size"),
        "max_position_embeddings": _size(header, "context_length"),
        "rms_norm_eps": _decimal(header.of_architecture("attention.layer_norm_rms_epsilon")),
        "rope_theta": 10000.0 if base is None else float(base),
        "hidden_act": "silu",
        "attention_bias": any(".attn_q.bias" in tensor.name for tensor in header.tensors),
        "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in header.tensors),
        "torch_dtype": dtype,
    }
    return {**config, **_special_tokens(header)}


def _special_tokens(header: GgufHeader) -> Mapping[str, int]:
    keys = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    found = {name: header.get(f"tokenizer.ggml.{word}_token_id") for name, word in keys.items()}
    return {name: int(token) for name, token in found.items() if token is not None}


def _decimal(value: float | None) -> float:
    """Return a float32 in the few digits that were meant: 1e-05, not 9.999999747378752e-06."""
    return 1e-6 if value is None else float(f"{value:.6g}")


def _size(header: GgufHeader, key: str) -> int:
    found = header.of_architecture(key)
    if not isinstance(found, int) or found <= 0:
        raise _unsupported(f"it does not give {header.architecture}.{key}")
    return found


def _name(gguf: str) -> str:
    if gguf in _OUTSIDE:
        return _OUTSIDE[gguf]
    found = _BLOCK.fullmatch(gguf)
    if found is None or found[2] not in _INSIDE:
        raise _unsupported(f"its tensor {gguf} has no name in transformers that is known here")
    return f"model.layers.{found[1]}.{_INSIDE[found[2]]}.{found[3]}"


def _unsupported(what: str) -> BadInput:
    return BadInput(
        "gguf_unsupported",
        f"the GGUF file cannot be made a checkpoint: {what}",
        why="only plain decoders of the Llama family (llama, qwen2, qwen3) can be named with certainty",
        fix="fetch the safetensors checkpoint that the file was made of",
    )
