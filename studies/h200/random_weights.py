"""Fill quantised checkpoints of make_arms.py with random weights, since zeros may run faster than numbers do.

    python3 studies/h200/random_weights.py FOLDER/qwen2.5-7b-w4a16-gptq FOLDER/qwen2.5-7b-w8a8-int8

vLLM's dummy weights leave packed integers at zero. Here every bit of them is drawn, and the scales are such that
activations stay finite. A few GB a checkpoint, seconds each; numpy suffices. Answers remain noise.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TILE_BYTES = 2**26
GROUP = 128
SPREAD = 0.02
"""Standard deviation of a weight, about that of a trained model of this size."""


class Tensor(NamedTuple):
    """A tensor to write: its type and shape as safetensors names them, and the bytes it repeats."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    tile: NDArray[Any]

    @property
    def bytes(self) -> int:
        """Bytes in the file."""
        return int(np.prod(self.shape)) * {"F16": 2, "BF16": 2, "F32": 4, "I32": 4, "I8": 1, "F8_E4M3": 1}[self.dtype]


class Tiles:
    """Random content by type; large tensors repeat a tile, which no kernel can tell from new numbers."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        bits = random.integers(0, 256, TILE_BYTES, dtype=np.uint8)
        numbers = random.normal(0, SPREAD, TILE_BYTES // 2)
        self.bits = bits
        # Without the highest bit of the exponent no FP8 code is NaN, and all values are below 2.
        self.fp8 = bits & 0xBF
        self.f16 = numbers.astype(np.float16)
        self.bf16 = (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    def plain(self, name: str, dtype: str, *shape: int) -> Tensor:
        """Return a 16-bit tensor."""
        return Tensor(name, dtype, shape, self.f16 if dtype == "F16" else self.bf16)


def constant(name: str, dtype: str, value: float, *shape: int) -> Tensor:
    """Return a tensor of one value."""
    if dtype == "BF16":
        return Tensor(name, dtype, shape, (np.full(1, value, np.float32).view(np.uint32) >> 16).astype(np.uint16))
    return Tensor(name, dtype, shape, np.full(1, value, np.float16 if dtype == "F16" else np.float32))


def gptq(tiles: Tiles, name: str, rows: int, columns: int, dtype: str) -> Iterator[Tensor]:
    """Yield a linear layer of ``rows`` outputs in GPTQ's layout; every zero point is the middle, 8."""
    groups = columns // GROUP
    yield Tensor(f"{name}.qweight", "I32", (columns // 8, rows), tiles.bits)
    yield Tensor(f"{name}.qzeros", "I32", (groups, rows // 8), np.full(1, 0x77777777, np.int32))
    yield constant(f"{name}.scales", dtype, SPREAD / 4.6, groups, rows)
    yield Tensor(f"{name}.g_idx", "I32", (columns,), (np.arange(columns) // GROUP).astype(np.int32))


def int8(tiles: Tiles, name: str, rows: int, columns: int, dtype: str) -> Iterator[Tensor]:
    """Yield a linear layer with a scale a row."""
    yield Tensor(f"{name}.weight", "I8", (rows, columns), tiles.bits)
    yield constant(f"{name}.weight_scale", dtype, SPREAD / 74, rows, 1)


def fp8(tiles: Tiles, name: str, rows: int, columns: int, dtype: str) -> Iterator[Tensor]:
    """Yield a linear layer with a scale a row."""
    yield Tensor(f"{name}.weight", "F8_E4M3", (rows, columns), tiles.fp8)
    yield constant(f"{name}.weight_scale", dtype, SPREAD / 0.5, rows, 1)


LAYOUTS: dict[str, Callable[[Tiles, str, int, int, str], Iterator[Tensor]]] = {
    "gptq": gptq,
    "int-quantized": int8,
    "float-quantized": fp8,
}


def tensors(config: dict[str, Any]) -> Iterator[Tensor]:
    """Yield all tensors of a Qwen2 model in the layout that its quantisation config names."""
    tiles, hidden, vocabulary = Tiles(), config["hidden_size"], config["vocab_size"]
    dtype = {"float16": "F16", "bfloat16": "BF16"}[config["torch_dtype"]]
    quantization = config["quantization_config"]
    linear = LAYOUTS[quantization.get("format", quantization["quant_method"])]
    yield tiles.plain("model.embed_tokens.weight", dtype, vocabulary, hidden)
    yield tiles.plain("lm_head.weight", dtype, vocabulary, hidden)
    yield constant("model.norm.weight", dtype, 1.0, hidden)
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        yield constant(f"{layer}.input_layernorm.weight", dtype, 1.0, hidden)
        yield constant(f"{layer}.post_attention_layernorm.weight", dtype, 1.0, hidden)
        for name, (rows, columns) in linears(config).items():
            yield from linear(tiles, f"{layer}.{name}", rows, columns, dtype)
            if name.endswith(("q_proj", "k_proj", "v_proj")):
                yield tiles.plain(f"{layer}.{name}.bias", dtype, rows)


def linears(config: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return a layer's linear modules with their outputs and inputs."""
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    grouped = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    return {
        "self_attn.q_proj": (hidden, hidden),
        "self_attn.k_proj": (grouped, hidden),
        "self_attn.v_proj": (grouped, hidden),
        "self_attn.o_proj": (hidden, hidden),
        "mlp.gate_proj": (wide, hidden),
        "mlp.up_proj": (wide, hidden),
        "mlp.down_proj": (hidden, wide),
    }


def fill(folder: Path) -> None:
    """Write ``model.safetensors`` beside the config."""
    todo = list(tensors(json.loads((folder / "config.json").read_text())))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for tensor in todo:
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [at, at + tensor.bytes],
        }
        at += tensor.bytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for tensor in todo:
            write(file.write, tensor)


def write(put: Callable[[Any], Any], tensor: Tensor) -> None:
    """Put the tensor's bytes out, tile by tile."""
    content = np.resize(tensor.tile, max(tensor.tile.size, min(2**20, tensor.bytes))).view(np.uint8)
    left = tensor.bytes
    while left:
        put(content[:left].data)
        left -= min(left, content.size)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        fill(Path(path))
        print(path)
