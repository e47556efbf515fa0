"""Whether a vLLM serves what its arm claims: its checkpoint, its log and the bytes that it loaded, side by side.

No rule speaks where one of its facts is missing.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from whichbits.record.schema import Fact
from whichbits.serve.vllm.loaded import LoadedWidth, drafts, loaded_width
from whichbits.serve.vllm.widths import Widths, kernel_widths
from whichbits.study.arm import Arm

Facts = Mapping[str, Fact]


class Claim(NamedTuple):
    """A weight format as widths in bits, and the kind of number where the format says it."""

    weights: int
    activations: int
    kind: str | None = None


CLAIMS = {
    "fp32": Claim(32, 32),
    "bf16": Claim(16, 16),
    "fp16": Claim(16, 16),
    "w8a8-fp8": Claim(8, 8, "fp8"),
    "w8a8-int8": Claim(8, 8, "int8"),
    "w8a16": Claim(8, 16),
    "w4a16": Claim(4, 16),
    "w4a8-int8": Claim(4, 8, "int8"),
}
_COMPUTES_IN = {"fp32": ("float32", "float"), "bf16": ("bfloat16",), "fp16": ("float16", "half")}
_METHOD_KIND = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "ptpc_fp8": "fp8",
    "modelopt": "fp8",
    "experts_int8": "int8",
    "bitsandbytes": "int8",
}
_METHOD_BITS = {
    "awq": 4,
    "awq_marlin": 4,
    "auto_awq": 4,
    "auto_awq_marlin": 4,
    "fp8": 8,
    "fbgemm_fp8": 8,
    "modelopt": 8,
    "modelopt_fp4": 4,
    "mxfp4": 4,
    "experts_int8": 8,
}
_WEIGHT_ONLY_METHODS = ("gptq", "awq", "hqq", "moe_wna16")
_MARLIN_INPUT = "VLLM_MARLIN_INPUT_DTYPE"
_MARLIN_INPUTS = ("int8", "fp8")
_METHODS_ASKED_FOR = ("quantization", "quantization_config", "hf_overrides")
_FALLBACK = "fp8_weight_only_marlin_fallback"
_WIDE = 16


def contradictions(arm: Arm, checkpoint: Facts, said: Facts) -> list[str]:
    """Return every reason why the server is not what ``arm`` claims, each with what shows it; none is good.

    ``checkpoint`` holds facts of its files, ``said`` what the server told. An arm of unknown format claims nothing.
    """
    if arm.weight_format == "unknown":
        return []
    claim, marlin_input = CLAIMS[arm.weight_format], _marlin_input(arm)
    kernels = _own_kernels(arm, said, marlin_input)
    told = bool(kernels) or marlin_input is not None
    found = [
        _unquantized(claim, said),
        _wrong_method(claim, checkpoint, said, marlin_input),
        _wrong_bytes(claim, loaded_width(arm.options, checkpoint, said)),
        _wrong_dtype(arm.weight_format, said),
        wrong_stored_bits(arm, checkpoint, said),
        None if kernels else _wrong_kind(claim, checkpoint, said),
        *_wrong_kernels(claim, kernels),
        _weight_only_fallback(claim, said) or (None if told else _wrong_activations(claim, checkpoint, said)),
    ]
    return [reason for reason in found if reason is not None]


def _unquantized(claim: Claim, said: Facts) -> str | None:
    method = said.get("quantization")
    if method is None or method.value is not None or claim.weights >= _WIDE:
        return None
    return f"{claim.weights}-bit weights are claimed, but vLLM says quantization=None"


def _marlin_input(arm: Arm) -> str | None:
    """Return the type of activations that a server of ours was told to give Marlin; None is its default, 16 bits."""
    inherited = os.environ if arm.target is None else {}
    wish = arm.environment.get(_MARLIN_INPUT) or inherited.get(_MARLIN_INPUT) or ""
    return wish.lower() if wish.lower() in _MARLIN_INPUTS else None


def _own_kernels(arm: Arm, said: Facts, marlin_input: str | None) -> list[Widths]:
    """Return the kernels of the model itself: with a drafter beside it, nobody can tell whose they are."""
    return [] if drafts(arm.options, said) else kernel_widths(said, marlin_input)


def _wrong_method(claim: Claim, checkpoint: Facts, said: Facts, marlin_input: str | None) -> str | None:
    method = _text(said, "quantization")
    if method is None:
        return None
    if claim.weights >= _WIDE:
        return f"{claim.weights}-bit weights are claimed, but vLLM quantises them with {method}"
    bits: float = _METHOD_BITS.get(method, claim.weights)
    if "awq" in method:  # 4 bits for nearly everybody; a checkpoint that says otherwise knows better
        bits = _number(checkpoint, "config_bits") or bits
    if bits != claim.weights:
        return f"{claim.weights}-bit weights are claimed, but vLLM's method {method} has {bits:g}"
    weights_only = marlin_input is None and claim.activations < _WIDE
    if weights_only and method.removeprefix("auto_").startswith(_WEIGHT_ONLY_METHODS):
        return f"{claim.activations}-bit activations are claimed, but vLLM's method {method} quantises weights only"
    return None


def _wrong_bytes(claim: Claim, loaded: LoadedWidth | None) -> str | None:
    if loaded is None or claim.weights in loaded.possible:
        return None
    return (
        f"the linear layers were loaded with {loaded.bits} bits, not {claim.weights}: the model takes "
        f"{loaded.gib:.2f} GiB, where {loaded.sizes_gib[claim.weights]:.2f} GiB are expected of {claim.weights}-bit "
        f"and {loaded.sizes_gib[loaded.bits]:.2f} GiB of {loaded.bits}-bit linear layers"
    )


def _wrong_dtype(weight_format: str, said: Facts) -> str | None:
    expected, found = _COMPUTES_IN.get(weight_format), _text(said, "dtype")
    if expected is None or found is None or found in expected:
        return None
    return f"{weight_format} is {expected[0]}, but vLLM computes in {found}"


def wrong_stored_bits(arm: Arm, checkpoint: Facts, said: Facts) -> str | None:
    """Compare what the files store with the claim; wide files may be narrowed by a server that is known to do so."""
    claim, bits = CLAIMS.get(arm.weight_format), _number(checkpoint, "linear_bits")
    if claim is None:
        return None
    claimed = claim.weights
    if bits is None or bits == claimed or min(bits, claimed) >= _WIDE:
        return None
    stored = "stores" if _text(checkpoint, "checkpoint_source") == "tensors" else "declares"
    found = f"{claimed}-bit weights are claimed, but the checkpoint {stored} {bits:g}-bit linear layers"
    if bits < _WIDE or "quant_method" in checkpoint:
        return found
    if _narrows(arm, said):
        return None
    unknown = "" if "quantization" in said else ", and nothing says that the server quantises them while loading"
    return found + unknown


def _narrows(arm: Arm, said: Facts) -> bool:
    """Return whether the server, or the arm where the server is silent, names a method or kernels of narrow weights."""
    if "quantization" in said:
        return said["quantization"].value is not None
    asked = (
        arm.quantization
        or arm.load_format == "bitsandbytes"
        or any(name.strip("-").replace("-", "_") in _METHODS_ASKED_FOR for name in arm.options)
    )
    return bool(asked) or any(_text(said, name) for name in ("quant_kernel_for", "quant_kernels"))


def _wrong_kind(claim: Claim, checkpoint: Facts, said: Facts) -> str | None:
    """Tell 8-bit integers from 8-bit floats where no kernel did: by the method's name, or by the checkpoint."""
    if claim.kind is None or claim.weights != 8:
        return None
    method = _text(said, "quantization") or ""
    if (kind := _METHOD_KIND.get(method)) is not None and kind != claim.kind:
        return f"{_words(claim)} are claimed, but vLLM's method {method} computes in {kind}"
    stored = _text(checkpoint, "weight_kind") if _number(checkpoint, "linear_bits") == claim.weights else None
    if stored is None or f"{stored}8" == claim.kind:
        return None
    return f"{_words(claim)} are claimed, but the checkpoint's weights are {stored}8 numbers"


def _wrong_kernels(claim: Claim, kernels: list[Widths]) -> list[str]:
    """Name the kernels that cannot serve the claim; mixed checkpoints have some beside the one that can."""
    if any(kernel.may_serve(claim.weights, claim.activations, claim.kind) for kernel in kernels):
        return []
    return [
        f"{kernel.name} ran for {kernel.layer}, which {kernel.words}; claimed is {_words(claim)}" for kernel in kernels
    ]


def _weight_only_fallback(claim: Claim, said: Facts) -> str | None:
    """A card without FP8 arithmetic keeps activations wide, and vLLM says so."""
    if claim.activations >= _WIDE or _FALLBACK not in (_text(said, "hints") or ""):
        return None
    return (
        f"{claim.activations}-bit activations are claimed, but this GPU has no FP8 arithmetic: vLLM runs weight-only "
        f"Marlin kernels, which is w{claim.weights}a16"
    )


def _wrong_activations(claim: Claim, checkpoint: Facts, said: Facts) -> str | None:
    """Judge by the checkpoint, where no kernel told."""
    bits = _number(checkpoint, "activation_bits")
    if claim.weights >= _WIDE or _FALLBACK in (_text(said, "hints") or ""):
        return None
    if claim.activations < _WIDE and bits is None and _weights_only(checkpoint):
        return (
            f"{claim.activations}-bit activations are claimed, but the checkpoint's "
            f"{_text(checkpoint, 'quant_method')} config quantises weights only"
        )
    if bits is not None and (bits < _WIDE) != (claim.activations < _WIDE):
        return f"{claim.activations}-bit activations are claimed, but the checkpoint asks for {bits:g}-bit ones"
    return None


def _weights_only(checkpoint: Facts) -> bool:
    method = _text(checkpoint, "quant_method")
    if method == "bitsandbytes":
        return _number(checkpoint, "config_bits") == CLAIMS["w4a16"].weights
    return method in _WEIGHT_ONLY_METHODS or (method == "compressed-tensors" and "config_bits" in checkpoint)


def _words(claim: Claim) -> str:
    kind = "" if claim.kind is None else f" {claim.kind}"
    return f"{claim.weights}-bit weights and {claim.activations}-bit{kind} activations"


def _text(facts: Facts, name: str) -> str | None:
    found = facts.get(name)
    return None if found is None or found.value is None else str(found.value)


def _number(facts: Facts, name: str) -> float | None:
    found = facts.get(name)
    return found.value if found is not None and isinstance(found.value, int | float) else None
