"""16-bit checkpoints of a few kilobytes, with weights that are told apart, and safetensors read without our reader."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 64,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
LAYER = {
    "self_attn.q_proj": (128, 128),
    "self_attn.k_proj": (64, 128),
    "self_attn.v_proj": (64, 128),
    "self_attn.o_proj": (128, 128),
    "mlp.gate_proj": (256, 128),
    "mlp.up_proj": (256, 128),
    "mlp.down_proj": (128, 256),
}
_TYPES: Mapping[str, Any] = {
    "BF16": ml_dtypes.bfloat16,
    "F16": np.float16,
    "F32": np.float32,
    "I8": np.int8,
    "I32": np.int32,
    "I64": np.int64,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
}
Array = NDArray[Any]


def weights(layers: int = 2, layer: Mapping[str, tuple[int, int]] = LAYER) -> dict[str, Array]:
    """Random weights in float32, spread like those of a trained model."""
    random = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (64, 128),
        "lm_head.weight": (64, 128),
        "model.norm.weight": (128,),
    }
    for number in range(layers):
        block = f"model.layers.{number}"
        shapes |= {f"{block}.{name}.weight": shape for name, shape in layer.items()}
        shapes |= {f"{block}.{name}.weight": (128,) for name in ("input_layernorm", "post_attention_layernorm")}
    return {name: random.normal(0, 0.02, shape).astype(np.float32) for name, shape in shapes.items()}


def write_model(folder: Path, tensors: Mapping[str, Array] | None = None, dtype: str = "BF16", **config: Any) -> Path:
    """Write a checkpoint folder; every tensor is stored as ``dtype``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    (folder / "tokenizer.json").write_text("{}")
    write_safetensors(folder / "model.safetensors", weights() if tensors is None else tensors, dtype)
    return folder


def write_safetensors(file: Path, tensors: Mapping[str, Array], dtype: str) -> None:
    header: dict[str, Any] = {}
    data = b""
    for name, values in tensors.items():
        raw = values.astype(_TYPES[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(folder: Path) -> dict[str, Array]:
    """Every tensor of a folder, read by the format's description."""
    found: dict[str, Array] = {}
    for file in sorted(folder.glob("*.safetensors")):
        raw = file.read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        for name, entry in json.loads(raw[8 : 8 + length]).items():
            if name != "__metadata__":
                start, stop = (8 + length + at for at in entry["data_offsets"])
                found[name] = np.frombuffer(raw[start:stop], _TYPES[entry["dtype"]]).reshape(entry["shape"])
    return found
