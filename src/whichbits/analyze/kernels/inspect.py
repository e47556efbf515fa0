"""What a profiler's trace says, for `inspect`."""

from pathlib import Path
from typing import Any

from whichbits.analyze.kernels.kernel_time import KernelTime
from whichbits.analyze.kernels.trace import is_trace
from whichbits.record.inspection import Inspection, Problem


def recognise_file(path: Path) -> Inspection | None:
    """Return what a trace of torch's profiler says, packed or not; None if the file is none. Raises OSError."""
    if not is_trace(path):
        return None
    from whichbits.analyze.kernels.window import kernel_time  # numpy takes as long as reading a log

    found = kernel_time([path])
    if found is None:
        return Inspection("profile_trace", None, None, {}, (), (Problem("trace_without_times"),))
    engine = "vllm" if found.engine_version else None
    errors = (Problem("file_cut_off"),) if found.cut_off else ()
    return Inspection("profile_trace", engine, found.engine_version, _facts(found), errors, _warnings(found))


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
