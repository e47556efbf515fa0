"""Checkpoint folders of a few kilobytes in every layout that serving meets."""

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

TINY: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
}
LINEARS = {
    "self_attn.q_proj": (256, 256),
    "self_attn.k_proj": (128, 256),
    "self_attn.v_proj": (128, 256),
    "self_attn.o_proj": (256, 256),
    "mlp.gate_proj": (512, 256),
    "mlp.up_proj": (512, 256),
    "mlp.down_proj": (256, 512),
}
LINEAR_PARAMETERS = 2 * sum(outputs * inputs for outputs, inputs in LINEARS.values())
BYTES = {"F16": 2, "F32": 4, "I32": 4, "I64": 8, "I8": 1, "U8": 1, "F8_E4M3": 1}
Entry = tuple[str, tuple[int, ...]] | tuple[str, tuple[int, ...], bytes]


def gptq(outputs: int, inputs: int) -> dict[str, Entry]:
    return {
        "qweight": ("I32", (inputs * 4 // 32, outputs)),
        "qzeros": ("I32", (inputs // 128, outputs * 4 // 32)),
        "scales": ("F16", (inputs // 128, outputs)),
        "g_idx": ("I32", (inputs,)),
    }


def awq(outputs: int, inputs: int) -> dict[str, Entry]:
    return {
        "qweight": ("I32", (inputs, outputs * 4 // 32)),
        "qzeros": ("I32", (inputs // 128, outputs * 4 // 32)),
        "scales": ("F16", (inputs // 128, outputs)),
    }


def packed(outputs: int, inputs: int) -> dict[str, Entry]:
    return {
        "weight_packed": ("I32", (outputs, inputs * 4 // 32)),
        "weight_scale": ("F16", (outputs, inputs // 128)),
        "weight_shape": ("I64", (2,), struct.pack("<2q", outputs, inputs)),
    }


def fp8(outputs: int, inputs: int) -> dict[str, Entry]:
    return {"weight": ("F8_E4M3", (outputs, inputs)), "weight_scale": ("F16", (outputs, 1))}


def int8(outputs: int, inputs: int) -> dict[str, Entry]:
    return {"weight": ("I8", (outputs, inputs)), "weight_scale": ("F16", (outputs, 1))}


def nvfp4(outputs: int, inputs: int) -> dict[str, Entry]:
    """As ModelOpt stores it: two weights a byte, a float8 for 16 weights, and one float32."""
    return {
        "weight": ("U8", (outputs, inputs // 2)),
        "weight_scale": ("F8_E4M3", (outputs, inputs // 16)),
        "weight_scale_2": ("F32", (1,)),
    }


def mxfp4(outputs: int, inputs: int) -> dict[str, Entry]:
    """As Quark stores it: two weights a byte, a power of two for 32 weights."""
    return {"weight": ("U8", (outputs, inputs // 2)), "weight_scale": ("U8", (outputs, inputs // 32))}


def nf4(outputs: int, inputs: int) -> dict[str, Entry]:
    state = json.dumps({"quant_type": "nf4", "shape": [outputs, inputs]}).encode()
    return {
        "weight": ("U8", (outputs * inputs // 2, 1)),
        "weight.absmax": ("F32", (outputs * inputs // 64,)),
        "weight.quant_map": ("F32", (16,)),
        "weight.quant_state.bitsandbytes__nf4": ("U8", (len(state),), state),
    }


def plain(outputs: int, inputs: int) -> dict[str, Entry]:
    return {"weight": ("F16", (outputs, inputs))}


def tensors(layout: Any, *, tied: bool = False) -> dict[str, Entry]:
    """All tensors of a model of two layers, its linear layers as ``layout`` stores them."""
    entries: dict[str, Entry] = {
        "model.embed_tokens.weight": ("F16", (1000, 256)),
        "model.norm.weight": ("F16", (256,)),
    }
    if not tied:
        entries["lm_head.weight"] = ("F16", (1000, 256))
    for layer in range(2):
        entries[f"model.layers.{layer}.input_layernorm.weight"] = ("F16", (256,))
        entries[f"model.layers.{layer}.post_attention_layernorm.weight"] = ("F16", (256,))
        for module, shape in LINEARS.items():
            for role, entry in layout(*shape).items():
                entries[f"model.layers.{layer}.{module}.{role}"] = entry
    return entries


def write(folder: Path, entries: Mapping[str, Entry], config: Mapping[str, Any] = TINY) -> Path:
    """Write a folder with one safetensors file."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_shard(folder / "model.safetensors", entries)
    return folder


def write_sharded(folder: Path, entries: Mapping[str, Entry], config: Mapping[str, Any] = TINY) -> Path:
    """Write a folder with two shards and their index."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    names = list(entries)
    halves = {
        "model-00001-of-00002.safetensors": names[: len(names) // 2],
        "model-00002-of-00002.safetensors": names[len(names) // 2 :],
    }
    for shard, held in halves.items():
        write_shard(folder / shard, {name: entries[name] for name in held})
    weight_map = {name: shard for shard, held in halves.items() for name in held}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    return folder


def write_shard(file: Path, entries: Mapping[str, Entry]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (dtype, shape, *values) in entries.items():
        raw = values[0] if values else bytes(prod(shape) * BYTES[dtype])
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def stored_bytes(entries: Mapping[str, Entry]) -> int:
    return sum(len(rest[0]) if rest else prod(shape) * BYTES[dtype] for dtype, shape, *rest in entries.values())
