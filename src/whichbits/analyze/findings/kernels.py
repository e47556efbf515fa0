"""Where did the time of profiled windows go?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from whichbits.analyze.findings.observed import Observed, load_of
from whichbits.analyze.kernels.kernel_time import KernelTime, KindTime
from whichbits.analyze.kernels.names import Kind
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.summary import Finding

SMALLEST_SHARE = 0.05
"""Kinds below this share of the window in every arm are left to the tables."""
_FEW = 4
_WORDS: Mapping[Kind, str] = {
    "gemm": "GEMM",
    "quantise": "quantising",
    "norm_activation": "norm, activation and rope",
    "kv_cache_write": "KV-cache writes",
    "moe_routing": "expert routing",
    "copy": "copies",
    "preparation": "preparing inputs",
    "elementwise": "element-wise work",
    "other": "kernels of unknown names",
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
        parts = "; ".join(_arm(profile.arm, found, kinds) for profile, found in timed)
        text = f"Under the profiler at {load}, {parts}. {_unit(timed)}"
        yield Finding("observed", "kernel_time", text, tuple(line for each in timed for line in _evidence(*each)))


def _arm(arm: str, found: KernelTime, kinds: Sequence[Kind]) -> str:
    parts = [_kind(each) for kind in kinds if (each := found.kind(kind)) is not None]
    idle = "gaps" if found.basis == "kernels" else "outside operations"
    return f"{arm} spent {', '.join(parts)}, {idle} {found.gaps.share:.0%}"


def _kind(found: KindTime) -> str:
    mainly = f" ({found.families[0].family})" if found.kind in ("gemm", "quantise", "attention") else ""
    return f"{_WORDS.get(found.kind, found.kind)} {found.share:.0%}{mainly}"


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
        return "Shares are of the model thread's time on the processor, in operations rather than kernels."
    return "Shares are of the GPUs' time from the first kernel to the last; the profiler itself adds to the gaps."


def _evidence(profile: Profile, found: KernelTime) -> Iterator[str]:
    parts = [f"{kind.kind} {kind.ms:.1f} ms" for kind in found.kinds[:_FEW]]
    yield f"{profile.arm} at {load_of(profile)}: window {found.window_ms:.0f} ms, {', '.join(parts)}"
    yield from profile.traces
