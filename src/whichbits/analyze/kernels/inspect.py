"""What a profiler's trace says, for `inspect`."""

from pathlib import Path
from typing import Any

import msgspec

from whichbits.analyze.kernels.kernel_time import KernelTime
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.kernels.trace import is_trace
from whichbits.record.inspection import Inspection, Problem

_WINDOW = ("arm", "concurrency", "request_rate", "replica", "seconds", "traces", "notes")
_LARGEST_SUMMARY = 1 << 20


def recognise_file(path: Path) -> Inspection | None:
    """Return what a trace of torch's profiler says, packed or not, or a run's summary of one; None of any other file.

    Raises:
        OSError: it cannot be read.
    """
    if is_trace(path):
        from whichbits.analyze.kernels.window import kernel_time  # numpy takes as long as reading a log

        return _inspection(kernel_time([path]), {})
    profile = _summary(path)
    if profile is None:
        return None
    window = {name: getattr(profile, name) for name in _WINDOW}
    return _inspection(profile.kernel_time, {name: value for name, value in window.items() if value not in (None, ())})


def _summary(path: Path) -> Profile | None:
    """Return what a run keeps of a profiled window beside its traces."""
    if path.stat().st_size > _LARGEST_SUMMARY:
        return None
    content = path.read_bytes()
    if not content.startswith(b"{"):
        return None
    try:
        return msgspec.json.decode(content, type=Profile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _inspection(found: KernelTime | None, window: dict[str, Any]) -> Inspection:
    if found is None:
        return Inspection("profile_trace", None, None, window, (), (Problem("trace_without_times"),))
    engine = "vllm" if found.engine_version else None
    errors = (Problem("file_cut_off"),) if found.cut_off else ()
    return Inspection("profile_trace", engine, found.engine_version, window | _facts(found), errors, _warnings(found))


def _facts(found: KernelTime) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "basis": found.basis,
        "devices": found.devices,
        "device_names": list(found.device_names),
        "window_ms": found.window_ms,
        "busy_ms": found.busy_ms,
        "overlap_ms": found.overlap_ms,
        **{f"{kind.kind}_share": kind.share for kind in found.kinds},
        "gap_share": found.gaps.share,
        "longest_gap_ms": found.gaps.longest_ms,
        "families_ms": {f"{kind.kind}, {each.family}": each.ms for kind in found.kinds for each in kind.families},
        "unknown_ms": {name.name: name.ms for name in found.unknown},
    }
    if found.host is not None:
        facts |= {"launches": found.host.launches, "launch_ms": found.host.launch_ms, "wait_ms": found.host.wait_ms}
    for step in found.steps:
        sort = "prefill" if step.with_prefill else "decode"
        facts |= {f"{sort}_steps": step.n, f"{sort}_step_ms": step.mean_ms}
    return {name: value for name, value in facts.items() if value not in ([], {})}


def _warnings(found: KernelTime) -> tuple[Problem, ...]:
    return (Problem("processor_operations_only"),) if found.basis == "operations" else ()
