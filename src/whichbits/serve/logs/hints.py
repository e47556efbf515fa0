"""What a log itself says about why an arm is slow, or is not the arm that it seems to be."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import Wording, searched, wording

_HINTS = (
    wording("quantization is not fully optimized yet", hint="quantization_not_fully_optimized"),
    wording(
        "Cannot use FlashAttention",
        r"Cannot use FlashAttention\S* backend for FP8 KV cache",
        hint="fp8_kv_cache_changed_attention_backend",
    ),
    wording(
        "native support for FP",
        r"not have native support for FP[48] computation",
        hint="fp8_weight_only_marlin_fallback",
    ),
    wording("Block FP8 kernel config", "Using default W8A8 Block FP8 kernel config", hint="untuned_fp8_block_kernel"),
    wording("Marlin kernel with bf16", hint="marlin_bf16_before_sm90_prefer_fp16"),
    wording("caling factor", r"(?i)using KV cache scaling factor 1\.0\b", hint="kv_scale_default_1.0"),
    wording("uncalibrated q_scale 1.0", hint="kv_scale_default_1.0"),
    wording("efaulting to scaling factors of 1.0", hint="kv_scale_default_1.0"),
    wording(
        "eep",
        r"(?i)^(?=.*deep_?gemm\b)(?!.*E8M0)(?=.*\b(?:not supported|not support|unsupported|disabled)\b)"
        r".*\b(?:platform|GPUs?|Blackwell)\b",
        hint="deepgemm_disabled_platform",
    ),
    wording("is >= mamba page size", hint="hybrid_model"),
    wording("Padding mamba page size", hint="hybrid_model"),
    wording("Hybrid or mamba-based model detected", hint="hybrid_model"),
    wording("Mamba cache mode is set to", hint="hybrid_model"),
    wording("padding layers, may waste", hint="hybrid_model"),
)
_WARNINGS = (
    wording(
        "MoE",
        r"Using default MoE(?: kernel)? config|MoE kernel config.*might be sub-optimal",
        warning="untuned_moe_kernel",
    ),
    wording(
        "Block INT8 kernel config", "Using default W8A8 Block INT8 kernel config", warning="untuned_int8_block_kernel"
    ),
    wording("explicitly, so forcing", warning="faster_kernel_refused_by_argument"),
    wording(
        "Falling back to", r"Falling back to (?:unoptimized AWQ|Moe WNA16) kernels", warning="layer_without_fast_kernel"
    ),
    wording("dequantize weights on the fly", warning="emulated_kernel"),
    wording("requires thread-tile padding", warning="marlin_padding"),
    wording("4-bit gptq_gemm kernel for GPTQ is buggy", warning="gptq_gemm_kernel_is_buggy"),
    wording("is preempted by PreemptionMode", warning="requests_preempted"),
    wording("llreduce is disabled because", r"(?i)custom allreduce is disabled because", warning="slow_all_reduce"),
    wording("JIT compilation during inference", warning="compiled_during_inference"),
)


def hints(lines: Sequence[LogLine], facts: dict[str, Any]) -> list[tuple[str, LogLine | None]]:
    """Return codes with the line that shows them: what the log says in its order, then what its settings mean."""
    found: list[tuple[str, LogLine | None]] = list(_first_of_each(_HINTS, "hint", lines))
    if facts.get("enforce_eager") is True:
        found.append(("enforce_eager", None))
    return found


def warnings(lines: Sequence[LogLine]) -> list[tuple[str, LogLine]]:
    """Return codes of other statements about speed and answers, each with its first line."""
    return list(_first_of_each(_WARNINGS, "warning", lines))


def _first_of_each(known: Iterable[Wording], kind: str, lines: Sequence[LogLine]) -> Iterator[tuple[str, LogLine]]:
    known, seen = tuple(known), set()
    for line in lines:
        for one, _ in searched(known, line):
            code = one.says[kind]
            if code not in seen:
                seen.add(code)
                yield code, line
