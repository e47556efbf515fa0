"""Which kernels an engine says it took, where slower ones than the format allows."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.limits.roofline import NARROW_TYPES
from whichbits.analyze.summary import ArmSummary, Finding
from whichbits.language.phrase import first_of, joined, listed, phrase

LEGACY_METHODS = ("awq", "gptq", "bitsandbytes", "gguf")
"""vLLM's methods that dequantise outside a fused kernel, as long as no kernel of another kind is named."""
LEGACY_WORDS = (
    "quantization_not_fully_optimized",
    "faster_kernel_refused_by_argument",
    "layer_without_fast_kernel",
    "emulated_kernel",
)
SLOW_WORDS = (
    "untuned_moe_kernel",
    "untuned_fp8_block_kernel",
    "untuned_int8_block_kernel",
    "marlin_padding",
    "marlin_bf16_before_sm90_prefer_fp16",
    "fp8_kv_cache_changed_attention_backend",
    "compiled_during_inference",
)


def legacy_kernel(observed: Observed) -> Iterator[Finding]:
    """Name arms whose log shows a kernel that is slower than 16 bits on many shapes."""
    slow = {arm.arm: words for arm in observed.arms.values() if (words := _legacy_words(arm))}
    if slow:
        text = phrase(
            "{names} ran without a fused low-bit kernel (Marlin, Machete and their like). Such kernels "
            "unpack weights apart from the product, so that fewer bits read need not be less time, least of "
            "all in large batches: where the arm loses, this is the first suspect, not the format.",
            names=listed(slow),
        )
        yield Finding(
            "interpretation",
            "legacy_kernel",
            text,
            tuple(phrase("{arm}: {words}", arm=arm, words=words) for arm, words in slow.items()),
            phrase(
                "the same arm without `quantization` given, or a checkpoint that a fused kernel takes, at the "
                "same loads"
            ),
        )


def weight_only_fallback(observed: Observed) -> Iterator[Finding]:
    """Name arms that claim narrow arithmetic and compute in 16 bits."""
    fallen = {arm.arm: words for arm in observed.arms.values() if (words := _fallback_words(observed, arm))}
    if fallen:
        text = phrase(
            "{names}: the format claims 8-bit arithmetic, but products are computed in 16 bits after weights "
            "are unpacked. The arm can gain from fewer bytes at low load; in prefill and large batches it "
            "has no more FLOP/s than 16 bits, and pays for unpacking.",
            names=listed(fallen),
        )
        yield Finding(
            "interpretation",
            "weight_only_fallback",
            text,
            tuple(phrase("{arm}: {words}", arm=arm, words=words) for arm, words in fallen.items()),
            phrase("the same two arms on a device with 8-bit units for this type (FP8: Ada, Hopper and later)"),
        )


def slow_path_in_log(observed: Observed) -> Iterator[Finding]:
    """Repeat what a log itself gives as a reason for slowness."""
    said = {arm.arm: found for arm in observed.arms.values() if (found := _said(arm, SLOW_WORDS))}
    if said:
        named = [phrase("{arm}: {list}", arm=arm, list=joined(", ", codes)) for arm, codes in said.items()]
        each = first_of("; ", named)
        text = phrase("The engine's log names reasons why an arm may be slower than its format: {each}.", each=each)
        yield Finding(
            "observed", "slow_path_in_log", text, tuple(phrase("{arm}: hints of its log", arm=arm) for arm in said)
        )


def _legacy_words(arm: ArmSummary) -> str | None:
    words = _said(arm, LEGACY_WORDS)
    if words:
        return phrase("the log says {list}", list=joined(", ", words))
    method = arm.facts.get("quantization")
    # Absent kernel lines mean something only if a log was read, and a log names the weights' size.
    if arm.engine == "vllm" and method in LEGACY_METHODS and arm.kernel is None and arm.weights_gib is not None:
        return phrase("quantization is {method}, and the log names no other kernel", method=method)
    return None


def _fallback_words(observed: Observed, arm: ArmSummary) -> str | None:
    if "fp8_weight_only_marlin_fallback" in _said(arm, ("fp8_weight_only_marlin_fallback",)):
        return phrase("the log says that weight-only compression is used")
    wanted = NARROW_TYPES.get(arm.weight_format)
    if wanted is not None and "MarlinFP8" in (arm.kernel or ""):
        return phrase("the kernel is {kernel}", kernel=arm.kernel)
    roofs = [cell.roofline for cell in observed.done if cell.arm == arm.arm and cell.roofline is not None]
    if wanted is not None and roofs and roofs[0].number_type != wanted:
        return phrase(
            "{device} has no {wanted} units; products are in {number_type}",
            device=roofs[0].device,
            wanted=wanted,
            number_type=roofs[0].number_type,
        )
    return None


def _said(arm: ArmSummary, codes: tuple[str, ...]) -> list[str]:
    """Return which of the codes the arm's log gave; facts keep them as one text."""
    words = phrase(
        "{facts}, {facts_2}", facts=arm.facts.get("hints") or "", facts_2=arm.facts.get("log_warnings") or ""
    ).split(", ")
    return [code for code in codes if code in words]
