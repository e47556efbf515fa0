"""What the tensors themselves say: each module's weight unpacked, its stored width, its bytes.

Widths come from types and packing, never from quantization_config, which can claim what the tensors do not hold.
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping

from whichbits.checkpoint.facts import Linear
from whichbits.checkpoint.parts import Parts, is_embedding, is_encoder, is_expert, is_head
from whichbits.checkpoint.safetensors import Tensor, broken, raw_bytes, whole_numbers

_WIDTHS = {
    "F64": 64,
    "F32": 32,
    "BF16": 16,
    "F16": 16,
    "I32": 32,
    "I8": 8,
    "U8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F4": 4,
}
_WIDTH = 16
_WORD = 32
_PACKED = ("qweight", "weight_packed")
_ROLES = (
    *_PACKED,
    "weight",
    "bias",
    "qzeros",
    "scales",
    "g_idx",
    "weight_g_idx",
    "weight_scale",
    "weight_scale_inv",
    "weight_scale_2",
    "weight_global_scale",
    "weight_zero_point",
    "weight_shape",
    "input_scale",
    "input_global_scale",
    "input_zero_point",
    "k_scale",
    "v_scale",
    "SCB",
    "weight_format",
)

Module = Mapping[str, Tensor]


def parts_of(tensors: Mapping[str, Tensor], config_bits: int | None) -> Parts:
    """Sort all tensors into parts; ``config_bits`` only helps where the packing leaves the width open."""
    modules = _modules(tensors)
    linears: list[Linear] = []
    sums: dict[str, int] = defaultdict(int)
    parameters = 0
    for name, module in modules.items():
        stored = sum(tensor.stored_bytes for tensor in module.values())
        weights = _weights(name, module, stored, config_bits)
        parameters += _parameters(module, weights)
        kind = _kind(name, weights)
        sums[kind] += stored
        if kind == "linear":
            linears += weights
    return Parts(
        linears=tuple(linears),
        total_bytes=sum(tensor.stored_bytes for tensor in tensors.values()),
        embedding_bytes=sums["embedding"],
        lm_head_bytes=sums["head"],
        encoder_bytes=sums["encoder"],
        parameters=parameters,
    )


def _kind(name: str, weights: list[Linear]) -> str:
    if is_encoder(name):
        return "encoder"
    if is_embedding(name):
        return "embedding"
    if is_head(name):
        return "head"
    return "linear" if weights else "other"


def _modules(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Group tensors by module: ``…q_proj.weight_scale`` is the ``weight_scale`` of ``…q_proj``."""
    modules: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in tensors.items():
        module, role = _split(name)
        modules[module][role] = tensor
    return modules


def _split(name: str) -> tuple[str, str]:
    if ".weight." in name:  # bitsandbytes: weight.absmax, weight.quant_map, weight.quant_state…
        module, _, rest = name.partition(".weight.")
        return module, f"weight.{rest}"
    module, _, role = name.rpartition(".")
    if role in _ROLES:
        return module, role
    for suffix in ("_scale_inv", "_blocks", "_scales", "_bias"):  # experts fused into one tensor, without a module
        if role.endswith(suffix):
            return name.removesuffix(suffix), suffix[1:]
    return name, "weight"


def _weights(name: str, module: Module, stored: int, config_bits: int | None) -> list[Linear]:
    """Return the module's matrix; a pile of experts is one linear layer an expert; none if it has no matrix."""
    shape, bits = _unpacked(module, config_bits)
    if len(shape) < 2 or min(shape) < 2:
        return []
    piles = math.prod(shape[:-2])
    if len(shape) > 2 and not is_expert(name):
        return []
    one = Linear(name, shape[-2], shape[-1], bits, stored // piles, expert=is_expert(name))
    return [one] * piles


def _unpacked(module: Module, config_bits: int | None) -> tuple[tuple[int, ...], int]:
    """Return the shape of the weight as it multiplies, outputs first, and its stored width in bits."""
    if "qweight" in module:
        return _gptq_or_awq(module, config_bits)
    if "weight_packed" in module:
        return _compressed(module, config_bits)
    if "blocks" in module:
        *piles, groups, half = module["blocks"].shape  # MXFP4: two weights a byte
        return (*piles, groups * half * 2), 4
    weight = module.get("weight")
    return ((), _WIDTH) if weight is None else _plain(weight, module)


def _plain(weight: Tensor, module: Module) -> tuple[tuple[int, ...], int]:
    if weight.dtype == "U8" and "weight.absmax" in module:
        return _bitsandbytes(module), 4
    if _two_a_byte(weight, module.get("weight_scale")):
        return (*weight.shape[:-1], weight.shape[-1] * 2), 4
    return weight.shape, _WIDTHS.get(weight.dtype, _WIDTH)


def _two_a_byte(weight: Tensor, scale: Tensor | None) -> bool:
    """Tell NVFP4 and MXFP4 of ModelOpt and Quark: bytes whose scales, of 8 bits each, stand for 8 or 16 bytes."""
    if weight.dtype != "U8" or scale is None or _WIDTHS.get(scale.dtype) != 8 or len(scale.shape) < 2:
        return False
    return weight.shape[-1] in (8 * scale.shape[-1], 16 * scale.shape[-1])


def _bitsandbytes(module: Module) -> tuple[int, ...]:
    """Two weights a byte in one column; the shape that they had stands in a JSON text among the tensors."""
    state = next((tensor for role, tensor in module.items() if role.startswith("weight.quant_state.")), None)
    if state is None:
        return (module["weight"].elements * 2,)
    try:
        return tuple(int(size) for size in json.loads(raw_bytes(state))["shape"])
    except (ValueError, KeyError, TypeError) as error:
        broken(state.file, f"{state.name} does not tell the weight's shape ({error})")


def _gptq_or_awq(module: Module, config_bits: int | None) -> tuple[tuple[int, ...], int]:
    """GPTQ packs along the input (in x bits/32, out), AWQ along the output (in, out x bits/32).

    In both, zero points are packed along the output, so that their width tells the weights'.
    """
    *piles, rows, columns = module["qweight"].shape
    outputs = module["scales"].shape[-1] if "scales" in module else columns
    if "qzeros" in module:
        bits = _WORD * module["qzeros"].shape[-1] // outputs
    elif "g_idx" in module:
        bits = _WORD * rows // module["g_idx"].elements
    else:
        bits = config_bits or 4
    inputs = rows if columns != outputs else rows * _WORD // bits
    return (*piles, outputs, inputs), bits


def _compressed(module: Module, config_bits: int | None) -> tuple[tuple[int, ...], int]:
    packed = module["weight_packed"]
    *outputs, columns = packed.shape
    if packed.dtype == "U8":  # NVFP4: two weights a byte
        return (*outputs, columns * 2), 4
    if "weight_shape" in module:
        shape = whole_numbers(module["weight_shape"])
        return shape, _WORD * columns // shape[-1]
    bits = config_bits or 4
    return (*outputs, columns * _WORD // bits), bits


def _parameters(module: Module, weights: list[Linear]) -> int:
    """Count what was trained: weights unpacked, and biases; no scales."""
    bias = module["bias"].elements if "bias" in module else 0
    if weights:
        return sum(weight.parameters for weight in weights) + bias
    return (module["weight"].elements if "weight" in module else 0) + bias
