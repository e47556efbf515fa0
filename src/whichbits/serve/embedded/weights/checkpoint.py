"""What a checkpoint holds, read from its GGUF header: the facts that an arm's claim is checked against."""

import hashlib
from collections import Counter
from pathlib import Path

from gguf import GGML_QUANT_SIZES

from whichbits.record.schema import Fact
from whichbits.serve.embedded.weights.gguf_header import GgufHeader, Tensor, read_gguf_header

_GIB = 2**30


def checkpoint_facts(path: Path, sha256: str | None = None) -> dict[str, Fact]:
    """Return what the file holds; bits count scales and zero points, as the file stores them."""
    header = read_gguf_header(path)
    source = str(path)
    found = _sizes(header) | _shape(header)
    found["sha256"] = sha256 if sha256 is not None else sha256_of(path)
    return {name: Fact(value, source) for name, value in found.items()}


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def linear_tensors(header: GgufHeader) -> list[Tensor]:
    """Return the matrices inside the layers: all but embeddings, output layer and vectors."""
    return [tensor for tensor in header.tensors if tensor.name.startswith("blk.") and len(tensor.shape) > 1]


def linear_type(header: GgufHeader) -> str:
    """Return the GGUF type of the linear layers, or ``mixed``."""
    types = {tensor.type.name for tensor in linear_tensors(header)}
    return types.pop() if len(types) == 1 else "mixed"


def _sizes(header: GgufHeader) -> dict[str, str | int | float | None]:
    weight_bytes = sum(tensor.bytes for tensor in header.tensors)
    types = Counter(tensor.type.name for tensor in header.tensors)
    linear = linear_tensors(header)
    linear_parameters = sum(tensor.parameters for tensor in linear)
    embedding = next((tensor for tensor in header.tensors if tensor.name == "token_embd.weight"), None)
    return {
        "checkpoint_format": "gguf",
        "tensor_types": " ".join(f"{name}:{count}" for name, count in sorted(types.items())),
        "linear_type": linear_type(header),
        "linear_bits": min(_value_bits(tensor) for tensor in linear) if linear else None,
        "linear_bits_with_scales": sum(t.bytes for t in linear) * 8 / linear_parameters if linear else None,
        "linear_parameters": linear_parameters,
        "embedding_type": None if embedding is None else embedding.type.name,
        "tied_embeddings": all(tensor.name != "output.weight" for tensor in header.tensors),
        "weight_bytes": weight_bytes,
        "weight_gib": weight_bytes / _GIB,
        "parameters": sum(tensor.parameters for tensor in header.tensors),
    }


def _shape(header: GgufHeader) -> dict[str, str | int | float | None]:
    heads = header.of_architecture("attention.head_count")
    hidden = header.of_architecture("embedding_length")
    return {
        "architecture": header.architecture,
        "layers": header.of_architecture("block_count"),
        "hidden_size": hidden,
        "feed_forward_size": header.of_architecture("feed_forward_length"),
        "heads": heads,
        "kv_heads": header.of_architecture("attention.head_count_kv") or heads,
        "head_size": hidden // heads if hidden and heads else None,
        "vocab_size": len(header.get("tokenizer.ggml.tokens") or ()) or None,
        "max_model_len": header.of_architecture("context_length"),
    }


def _value_bits(tensor: Tensor) -> int:
    """Bits of one stored value without its share of the scale: floor of bits per value (Q4_0: 4.5 → 4)."""
    elements, stored_bytes = GGML_QUANT_SIZES[tensor.type]
    return stored_bytes * 8 // elements
