"""How many bits the linear layers have in memory, told by the bytes that vLLM loaded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from whichbits.record.schema import Fact

Facts = Mapping[str, Fact]

_GIB = 2**30
_WIDTHS = (4, 8, 16, 32)
_SCALES = {4: 1.04, 8: 1.0, 16: 1.0, 32: 1.0}
"""Scales and zero points: 4 bits in groups of 128 weigh 4.16; the rest is thousandths."""
_OVERHEAD_GIB = 0.25
"""What else is counted: rotary tables, workspaces, padding. Sizes closer than twice this cannot be told apart."""
_DTYPE_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}
_DRAFT = ("speculative_config", "speculative_model")
_MOVE_BYTES = (
    *("cpu_offload_gb", "offload_backend", "enable_lora", "language_model_only", "limit_mm_per_prompt"),
    *("mm_encoder_only", "mm_encoder_tp_mode", "enable_eplb", "num_redundant_experts", "hf_overrides"),
)
"""Options that put more than the model, or less than all of it, into the figure."""
_MOVED = "weights_moved_by"
"""The fact by which the log tells that one of them was given."""


@dataclass(frozen=True)
class LoadedWidth:
    """``gib`` of all ranks together, the width whose size is nearest, and the sizes that widths would have.

    ``possible`` are the widths that may be: each GPU holds all of an encoder, or its part of it.
    """

    gib: float
    bits: int
    sizes_gib: Mapping[int, float]
    possible: frozenset[int]


def loaded_width(options: Collection[str], checkpoint: Facts, said: Facts) -> LoadedWidth | None:
    """Return the width that the loaded bytes mean; None if a figure is missing or the model is too small to tell."""
    gib, sizes = loaded_gib(said), sizes_gib(checkpoint, said)
    if gib is None or sizes is None or _MOVED in said or drafts(options, said) or _given(options, _MOVE_BYTES):
        return None
    copies_gib = (_number(checkpoint, "encoder_bytes") or 0) * (_size(said, "tensor_parallel_size") - 1) / _GIB
    bits, without_copies = _nearest(sizes, gib), _nearest(sizes, gib - copies_gib)
    if bits is None or without_copies is None:
        return None
    return LoadedWidth(gib, bits, sizes, frozenset({bits, without_copies}))


def drafts(options: Collection[str], said: Facts) -> bool:
    """Return whether a second model, the drafter of speculative decoding, was loaded beside the arm's own."""
    return "speculative_method" in said or _given(options, _DRAFT)


def _given(options: Collection[str], names: Collection[str]) -> bool:
    return any(name.strip("-").replace("-", "_") in names for name in options)


def _nearest(sizes: Mapping[int, float], gib: float) -> int | None:
    """Return the width whose size is nearest; None where a second one is nearly as near."""
    nearest, next_nearest = sorted(abs(size - gib) for size in sizes.values())[:2]
    clear = next_nearest - nearest >= _OVERHEAD_GIB
    return min(sizes, key=lambda width: abs(sizes[width] - gib)) if clear else None


def loaded_gib(said: Facts) -> float | None:
    """Return GiB of weights over all ranks of one engine; None if not all ranks are known to agree."""
    total = _number(said, "model_memory_gib_total")
    if _size(said, "data_parallel_size") > 1:
        return None
    if total is not None:
        return total
    each = _number(said, "model_memory_gib")
    if each is None or _size(said, "pipeline_parallel_size") > 1:
        return None
    return each * _size(said, "tensor_parallel_size")


def sizes_gib(checkpoint: Facts, said: Facts) -> dict[int, float] | None:
    """Return the model's size for each width that its linear layers could have.

    Layers that the checkpoint leaves unquantised keep the type that vLLM computes in, as do embedding and head.
    """
    total, linear = _number(checkpoint, "total_bytes"), _number(checkpoint, "linear_bytes")
    parameters, own = _number(checkpoint, "linear_parameters"), _number(checkpoint, "linear_bits")
    if total is None or linear is None or not parameters or own is None:
        return None
    stored_as = _DTYPE_BYTES.get(_text(checkpoint, "checkpoint_dtype"), 2)
    wide = _DTYPE_BYTES.get(_text(said, "dtype"), stored_as)
    rest = (total - linear - _spare_head(checkpoint)) * wide / stored_as
    narrowed = _number(checkpoint, "quantized_share") or 1.0
    sizes = {}
    for width in _WIDTHS:
        stretched = parameters * (narrowed * width / 8 * _SCALES[width] + (1 - narrowed) * wide)
        sizes[width] = (rest + (linear if width == own < 16 else stretched)) / _GIB
    return sizes


def _spare_head(checkpoint: Facts) -> float:
    """Return the bytes of a head that the files hold though it is tied to the embedding: vLLM leaves it out."""
    tied = checkpoint.get("tied_embeddings")
    named = [_number(checkpoint, f"{part}_bytes") for part in ("linear", "embedding", "encoder", "other")]
    total = _number(checkpoint, "total_bytes")
    if tied is None or tied.value is not True or total is None:
        return 0
    return 0 if None in named else total - sum(part for part in named if part is not None)


def _size(facts: Facts, name: str) -> int:
    seen = _number(facts, name) or _number(facts, f"{name}_seen")
    return int(seen or 1)


def _number(facts: Facts, name: str) -> float | None:
    found = facts.get(name)
    return found.value if found is not None and isinstance(found.value, int | float) else None


def _text(facts: Facts, name: str) -> str:
    found = facts.get(name)
    return "" if found is None else str(found.value)
