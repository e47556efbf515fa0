"""The machine that a run was made on, as facts for the manifest."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from whichbits.hardware.container import container_limits
from whichbits.hardware.nvidia_smi import installed_gpus
from whichbits.hardware.open_files import open_files

_TOOLS = ("whichbits", "numpy", "uvloop", "httptools", "pyarrow", "openvino", "openvino-genai")


def host_facts() -> dict[str, Any]:
    """Return processor, memory, limits and system; what cannot be read is None."""
    container = container_limits()
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu_quota_cores": container.processors,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "memory_limit_gib": None if container.memory is None else round(container.memory / 2**30, 1),
        "open_files_limit": open_files().soft,
        "cpu_flags": _cpu_flags(),
        "kernel": platform.release(),
        "system": platform.platform(terse=True),
        "load_average_1min": os.getloadavg()[0],
        "gpus": installed_gpus(),
    }


def tool_versions() -> dict[str, str]:
    """Return the versions that could explain a number: Python and the packages that carry the measurement."""
    found = {"python": platform.python_version()}
    for name in _TOOLS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _cpu_name() -> str | None:
    return next((value for key, value in _cpu_info() if key == "model name"), platform.processor() or None)


def _cpu_flags() -> list[str]:
    """Return the instruction sets that decide how low-precision arithmetic runs."""
    telling = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_bf16", "amx_int8", "asimddp", "i8mm")
    flags = next((value.split() for key, value in _cpu_info() if key in ("flags", "Features")), [])
    return [flag for flag in telling if flag in flags]


def _cpu_info() -> list[tuple[str, str]]:
    lines = (line.partition(":") for line in _text("/proc/cpuinfo").splitlines())
    return [(key.strip(), value.strip()) for key, _, value in lines]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
