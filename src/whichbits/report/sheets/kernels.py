"""Time by kind of kernel, of the arms and loads that were profiled."""

from whichbits.analyze.kernels.kernel_time import KernelTime
from whichbits.analyze.kernels.names import KINDS, Kind
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, rate_text, share_text

_KINDS: dict[Kind, str] = {
    "gemm": phrase("gemm"),
    "attention": phrase("attention"),
    "quantise": phrase("quantise"),
    "norm_activation": phrase("norm activation"),
    "kv_cache_write": phrase("kv cache write"),
    "communication": phrase("communication"),
    "sampling": phrase("sampling"),
    "moe_routing": phrase("moe routing"),
    "copy": phrase("copy"),
    "preparation": phrase("preparation"),
    "elementwise": phrase("elementwise"),
    "other": phrase("other"),
}


def kernel_times(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a profiled window a row; kinds of kernels that no window has are left out."""
    timed = [(profile, profile.kernel_time) for profile in summary.profiles if profile.kernel_time is not None]
    if not timed:
        return None
    kinds = tuple(kind for kind in KINDS if any(time.kind(kind) for _, time in timed))
    return Sheet(
        name="kernels",
        title=phrase("Kernel time"),
        meaning=phrase(
            "Shares of a short window that the engine's profiler traced, outside of what is measured, and of "
            "the gaps in which a GPU ran nothing. Kernels of several streams at once make them add up to "
            "more than all."
        ),
        headings=(
            phrase("arm"),
            phrase("load"),
            phrase("window ms"),
            *(_KINDS[kind] for kind in kinds),
            phrase("gaps"),
        ),
        rows=tuple((*_place(profile), *_shares(time, kinds)) for profile, time in timed),
        words=2,
    )


def _place(profile: Profile) -> tuple[str, str]:
    return (profile.arm, rate_text(profile.request_rate, profile.concurrency))


def _shares(time: KernelTime, kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    found = {each.kind: share_text(each.share) for each in time.kinds}
    return (number(time.window_ms), *(found.get(kind, MISSING) for kind in kinds), share_text(time.gaps.share))
