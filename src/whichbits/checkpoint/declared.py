"""A checkpoint without tensors: bytes by part from the shapes and the format that its config declares.

This is what an engine with dummy weights holds. Covers decoders of the Llama kind: grouped-query or latent
attention, gated MLPs, routed and shared experts.
"""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from whichbits.checkpoint.config import Mla, Shape
from whichbits.checkpoint.facts import Linear
from whichbits.checkpoint.parts import Parts
from whichbits.checkpoint.quantization import Quantization
from whichbits.errors import BadInput

_DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_SCALE_BYTES = 2
_QK_NORMED = ("qwen3", "qwen3_moe", "gemma3", "gemma3_text")


_OTHER_KINDS = (
    *(
        "bloom",
        "falcon",
        "gpt2",
        "gpt_bigcode",
        "gpt_neox",
        "gptj",
        "mpt",
        "opt",
        "phi",
        "starcoder2",
    ),  # MLPs not gated
    *("llama4", "llama4_text"),  # experts in every other layer
)


class _Matrix(NamedTuple):
    module: str
    outputs: int
    inputs: int
    bias: bool = False


def declared_parts(shape: Shape, quantization: Quantization | None) -> Parts:
    """Return the parts of a checkpoint that stores what its config declares.

    Raises:
        BadInput: ``checkpoint_shape_unknown`` if its layers are of another kind, so that sizes would be guesses.
    """
    if shape.model_type in _OTHER_KINDS or shape.kv_layers != shape.layers:
        raise BadInput(
            "checkpoint_shape_unknown",
            f"the sizes of a {shape.model_type} model cannot be worked out from its config.json alone",
            why="its layers are not all of the Llama kind: attention in each, then a gated MLP or experts",
            fix="name a folder that holds its safetensors files too",
        )
    width = _DTYPE_BYTES.get(str(shape.dtype).removeprefix("torch."), 2)
    matrices = list(_matrices(shape))
    linears = tuple(_linear(matrix, quantization, width) for matrix in matrices)
    table = shape.vocabulary * shape.hidden
    head = 0 if shape.tied_embeddings else table
    norms = _norm_parameters(shape)
    biases = sum(matrix.outputs for matrix in matrices if matrix.bias)
    return Parts(
        linears=linears,
        total_bytes=sum(linear.stored_bytes for linear in linears) + (table + head + norms) * width,
        embedding_bytes=table * width,
        lm_head_bytes=head * width,
        encoder_bytes=0,
        parameters=sum(linear.parameters for linear in linears) + table + head + norms + biases,
    )


def _linear(matrix: _Matrix, quantization: Quantization | None, width: int) -> Linear:
    bits = 8 * width
    stored = matrix.outputs * matrix.inputs * width
    if quantization is not None and quantization.bits and not quantization.leaves(matrix.module) and _narrows(matrix):
        bits = quantization.bits
        stored = _quantized_bytes(matrix, quantization, bits)
    bias = matrix.outputs * width if matrix.bias else 0
    return Linear(matrix.module, matrix.outputs, matrix.inputs, bits, stored + bias, ".experts." in matrix.module)


def _narrows(matrix: _Matrix) -> bool:
    """Routers stay wide in every format: they are tiny and decide much."""
    return not matrix.module.endswith("mlp.gate")


def _quantized_bytes(matrix: _Matrix, quantization: Quantization, bits: int) -> int:
    """Add a scale a group, and a zero point a group unless the scheme has none; GPTQ files hold them always."""
    group = quantization.group_size
    groups = matrix.outputs * (ceil(matrix.inputs / group) if group and group > 0 else 1)
    weights = ceil(matrix.outputs * matrix.inputs * bits / 8)
    has_zeros = quantization.method == "gptq" or not quantization.symmetric
    zeros = ceil(groups * bits / 8) if has_zeros else 0
    return weights + groups * _SCALE_BYTES + zeros


def _matrices(shape: Shape) -> Iterator[_Matrix]:
    for layer in range(shape.layers):
        name = f"model.layers.{layer}"
        yield from _attention(f"{name}.self_attn", shape)
        if shape.experts and layer >= shape.dense_layers:
            yield from _experts(f"{name}.mlp", shape)
        elif shape.intermediate:
            yield from _mlp(f"{name}.mlp", shape.hidden, shape.intermediate)


def _attention(name: str, shape: Shape) -> Iterator[_Matrix]:
    if shape.mla is not None:
        yield from _latent_attention(name, shape, shape.mla)
        return
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    yield _Matrix(f"{name}.q_proj", queries, shape.hidden, shape.attention_bias)
    yield _Matrix(f"{name}.k_proj", keys, shape.hidden, shape.attention_bias)
    yield _Matrix(f"{name}.v_proj", keys, shape.hidden, shape.attention_bias)
    yield _Matrix(f"{name}.o_proj", shape.hidden, queries)


def _latent_attention(name: str, shape: Shape, mla: Mla) -> Iterator[_Matrix]:
    queries = shape.heads * (mla.nope + mla.rotary)
    if mla.q_rank:
        yield _Matrix(f"{name}.q_a_proj", mla.q_rank, shape.hidden)
        yield _Matrix(f"{name}.q_b_proj", queries, mla.q_rank)
    else:
        yield _Matrix(f"{name}.q_proj", queries, shape.hidden)
    yield _Matrix(f"{name}.kv_a_proj_with_mqa", mla.kv_rank + mla.rotary, shape.hidden)
    yield _Matrix(f"{name}.kv_b_proj", shape.heads * (mla.nope + mla.value), mla.kv_rank)
    yield _Matrix(f"{name}.o_proj", shape.hidden, shape.heads * mla.value)


def _experts(name: str, shape: Shape) -> Iterator[_Matrix]:
    experts, width = shape.experts or 0, shape.expert_intermediate or 0
    yield _Matrix(f"{name}.gate", experts, shape.hidden)
    for expert in range(experts):
        yield from _mlp(f"{name}.experts.{expert}", shape.hidden, width)
    if shape.shared_intermediate:
        yield from _mlp(f"{name}.shared_experts", shape.hidden, shape.shared_intermediate)


def _mlp(name: str, hidden: int, width: int) -> Iterator[_Matrix]:
    yield _Matrix(f"{name}.gate_proj", width, hidden)
    yield _Matrix(f"{name}.up_proj", width, hidden)
    yield _Matrix(f"{name}.down_proj", hidden, width)


def _norm_parameters(shape: Shape) -> int:
    """Two norms a layer and one at the end; of queries and keys, or of latents, where the family has them."""
    inner = 2 * shape.head_dim if shape.model_type in _QK_NORMED else 0
    if shape.mla is not None:
        inner = shape.mla.kv_rank + (shape.mla.q_rank or 0)
    return shape.layers * (2 * shape.hidden + inner) + shape.hidden
