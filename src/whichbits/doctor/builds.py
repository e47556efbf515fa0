"""The builds of torch and its companions: one CUDA for all, and imports that work."""

import re
import subprocess
from collections.abc import Iterable, Iterator

from whichbits.doctor.diagnosis import Diagnosis, Patient, good, unknown
from whichbits.doctor.interpreter import Distribution, Interpreter
from whichbits.hardware.answering import Patience

TORCH_FAMILY = ("torch", "torchvision", "torchaudio")
_IMPORT_SECONDS = 120.0
_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w-]+)")
_TRIAL = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(name + "\\t" + type(error).__name__ + ": " + " ".join(str(error).split())[:400])
"""


def wheel_index(interpreter: Interpreter) -> str:
    """Return the part of PyTorch's index that holds builds for this torch: ``cu130``, ``cpu``."""
    torch = interpreter.distributions.get("torch")
    cuda = None if torch is None else torch.cuda_version
    return f"cu{cuda.replace('.', '')}" if cuda else "cpu"


def check_cuda_builds(patient: Patient) -> Iterator[Diagnosis]:
    """Compare the CUDA that torch and its companions were built for."""
    for interpreter in patient.interpreters:
        torch = interpreter.distributions.get("torch")
        if torch is not None:
            yield from _companions(interpreter, torch)


def _companions(interpreter: Interpreter, torch: Distribution) -> Iterator[Diagnosis]:
    builds = {name: interpreter.distributions[name] for name in TORCH_FAMILY if name in interpreter.distributions}
    clashing = {name: build for name, build in builds.items() if _clash(torch, build)}
    for name, build in clashing.items():
        yield Diagnosis(
            "cuda_builds_clash",
            "problem",
            interpreter.path,
            f"torch {torch.version} is built for {_cuda(torch)}, {name} {build.version} for {_cuda(build)}",
            why="a new vLLM brought a new torch, and what was installed before stayed; "
            "importing both raises an error, and vLLM does so through transformers",
            fix=f"pip install {name} --index-url https://download.pytorch.org/whl/{wheel_index(interpreter)} "
            "(removing it ends the start of newer vLLM)",
        )
    if not clashing:
        told = ", ".join(f"{name} {build.build or build.version}" for name, build in builds.items())
        yield good("cuda_builds", interpreter.path, f"{told}: {_cuda(torch)}")


def _clash(torch: Distribution, other: Distribution) -> bool:
    """Return whether both say for which CUDA they are, and do not agree; silence is no clash."""
    told = [build.cuda_version or ("cpu" if build.is_cpu_build else None) for build in (torch, other)]
    return None not in told and told[0] != told[1]


def _cuda(build: Distribution) -> str:
    return f"CUDA {build.cuda_version}" if build.cuda_version else "the processor"


def check_imports(patient: Patient) -> Iterator[Diagnosis]:
    """Import torch and its companions in each interpreter, as vLLM will."""
    for interpreter in patient.interpreters:
        names = [name for name in TORCH_FAMILY if name in interpreter.distributions]
        if names:
            yield from _imports(interpreter, names, patient.patience)


def _imports(interpreter: Interpreter, names: list[str], patience: Patience) -> Iterable[Diagnosis]:
    try:
        told = patience.answer([interpreter.path, "-c", _TRIAL, *names], _IMPORT_SECONDS)
    except subprocess.TimeoutExpired as silence:
        return [unknown("imports", interpreter.path, _unended(names, silence.timeout))]
    except (OSError, subprocess.SubprocessError) as error:
        return [unknown("imports", interpreter.path, f"importing {', '.join(names)} did not end well: {error}")]
    failures = [line.split("\t", 1) for line in told.splitlines() if "\t" in line]
    if not failures:
        return [good("imports", interpreter.path, f"{', '.join(names)} can be imported")]
    return [_failed(interpreter, name, reason) for name, reason in failures]


def _unended(names: list[str], seconds: float) -> str:
    if not seconds:
        return f"importing {', '.join(names)} was not tried: others took all the time that there is for answers"
    return f"importing {', '.join(names)} did not end within {seconds:.0f} s"


def _failed(interpreter: Interpreter, name: str, reason: str) -> Diagnosis:
    absent = _ABSENT.search(reason)
    if absent is not None:
        why, fix = f"{name} needs a package that is not installed", f"{interpreter.path} -m pip install {absent[1]}"
    else:
        why = "its compiled part belongs to another torch or another CUDA, or a library is missing"
        fix = (
            f"install the build of {name} that goes with this torch "
            f"(--index-url https://download.pytorch.org/whl/{wheel_index(interpreter)})"
        )
    found = f"import {name} fails: {reason}"
    return Diagnosis("import_fails", "problem", interpreter.path, found, why=why, fix=fix)
