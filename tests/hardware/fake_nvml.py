"""A driver's library for tests, compiled where there is a C compiler."""

import shutil
import subprocess
from pathlib import Path

import pytest

NAME = "libnvidia-ml.so.1"
_SOURCE = Path(__file__).with_name("fake_nvml.c")


def compile_nvml(folder: Path) -> Path:
    """Return the library, under the driver's own name."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(folder / NAME), str(_SOURCE)], check=True)
    return folder / NAME
