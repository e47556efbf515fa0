"""Where did the time of profiled windows go?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from whichbits.analyze.findings.observed import Observed, load_of
from whichbits.analyze.kernels.kernel_time import KernelTime, KindTime
from whichbits.analyze.kernels.names import Kind
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import first_of, joined, phrase

SMALLEST_SHARE = 0.05
"""Kinds below this share of the window in every arm are left to the tables."""
_FEW = 4
_WORDS: Mapping[Kind, str] = {
    "gemm": "GEMM",
    "attention": phrase("attention"),
    "quantise": phrase("quantising"),
    "norm_activation": phrase("norm, activation and rope"),
    "kv_cache_write": phrase("KV-cache writes"),
    "moe_routing": phrase("expert routing"),
    "communication": phrase("communication"),
    "sampling": phrase("sampling"),
    "copy": phrase("copies"),
    "preparation": phrase("preparing inputs"),
    "elementwise": phrase("element-wise work"),
    "other": phrase("kernels of unknown names"),
}


_Timed = tuple[Profile, KernelTime]


def kernel_times(observed: Observed) -> Iterator[Finding]:
    """State, for each profiled load, where each arm's time went."""
    by_load: dict[str, list[_Timed]] = defaultdict(list)
    for profile in observed.profiles:
        if profile.kernel_time is not None:
            by_load[load_of(profile)].append((profile, profile.kernel_time))
    for load, timed in by_load.items():
        kinds = _shown(timed)
        parts = first_of("; ", [_arm(profile.arm, found, kinds) for profile, found in timed])
        text = phrase("Under the profiler at {load}, {parts}. {unit}", load=load, parts=parts, unit=_unit(timed))
        yield Finding("observed", "kernel_time", text, tuple(line for each in timed for line in _evidence(*each)))


def _arm(arm: str, found: KernelTime, kinds: Sequence[Kind]) -> str:
    parts = [_kind(each) for kind in kinds if (each := found.kind(kind)) is not None]
    idle = phrase("gaps") if found.basis == "kernels" else phrase("outside operations")
    return phrase(
        "{arm} spent {list}, {idle} {share:.0%}", arm=arm, list=joined(", ", parts), idle=idle, share=found.gaps.share
    )


def _kind(found: KindTime) -> str:
    mainly = (
        phrase(" ({family})", family=found.families[0].family)
        if found.kind in ("gemm", "quantise", "attention")
        else ""
    )
    return phrase("{kind} {share:.0%}{mainly}", kind=_WORDS[found.kind], share=found.share, mainly=mainly)


def _shown(timed: Sequence[_Timed]) -> list[Kind]:
    """Return the kinds that matter in some arm, in the order of their largest share; the first in any case."""
    largest: dict[Kind, float] = defaultdict(float)
    for _, found in timed:
        for kind in found.kinds:
            largest[kind.kind] = max(largest[kind.kind], kind.share)
    ranked = sorted(largest, key=lambda kind: -largest[kind])
    return ranked[:1] + [kind for kind in ranked[1:_FEW] if largest[kind] >= SMALLEST_SHARE]


def _unit(timed: Sequence[_Timed]) -> str:
    if any(found.basis == "operations" for _, found in timed):
        return phrase("Shares are of the model thread's time on the processor, in operations rather than kernels.")
    return phrase(
        "Shares are of the GPUs' time from the first kernel to the last; the profiler itself adds to the gaps."
    )


def _evidence(profile: Profile, found: KernelTime) -> Iterator[str]:
    parts = [phrase("{kind} {ms:.1f} ms", kind=kind.kind, ms=kind.ms) for kind in found.kinds[:_FEW]]
    yield phrase(
        "{arm} at {load_of}: window {window_ms:.0f} ms, {list}",
        arm=profile.arm,
        load_of=load_of(profile),
        window_ms=found.window_ms,
        list=joined(", ", parts),
    )
    yield from profile.traces
