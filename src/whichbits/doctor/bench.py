"""Commands of notebooks and scripts that newer vLLM no longer has, or that now mean something else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.doctor.interpreter import Interpreter
from whichbits.errors import BadInput

_SCRIPTS = re.compile(r"benchmark_(serving|throughput|latency)\.py")
_BENCH = re.compile(r"vllm\s+bench\s+serve\b[^\n|;&]*")
_NOT_GREEDY_FROM = Version("0.15")
"""Read from the wheels of 0.10.2 to 0.14.0, which set temperature 0, and of 0.15.0 to 0.32.0, which warn instead."""
_SCRIPTS_END_AT_ONCE = Version("0.10.2")
"""From here on the repository's scripts print that they have moved, and end with 1 (vLLM pull 24411)."""


def check_bench(patient: Patient) -> Iterator[Diagnosis]:
    """Say which benchmark each vLLM has, and whether it is greedy unless told."""
    for interpreter in patient.interpreters:
        if interpreter.engine is None or interpreter.engine_version is None:
            continue
        where = "`vllm bench serve`" if interpreter.bench.get("command") else "benchmarks/benchmark_serving.py"
        if interpreter.bench.get("command") and interpreter.engine_version >= _NOT_GREEDY_FROM:
            yield _not_greedy(interpreter)
        else:
            yield good("bench", interpreter.path, f"vLLM's own benchmark is {where}")


def _not_greedy(interpreter: Interpreter) -> Diagnosis:
    return Diagnosis(
        "bench_not_greedy",
        "note",
        interpreter.path,
        "`vllm bench serve` sends no temperature, so the model's generation_config decides how long answers get",
        why="up to 0.14 it sent 0; benchmark_serving.py, which older notebooks clone, is gone",
        fix="add --temperature 0 --ignore-eos to compare arms by it; `whichbits run` forces equal work itself",
    )


def commands_of(path: Path) -> str:
    """Return the text of a script or notebook.

    Raises:
        BadInput: ``doctor_commands`` if it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            "doctor_commands",
            f"{path} cannot be read: {error}",
            why="the path is wrong, or the file is no text",
            fix="name a shell script, a notebook or a text with the commands",
        ) from None
    return _cells(text).replace("\\\n", " ")


def _cells(text: str) -> str:
    """Return the code of a notebook; of any other text, itself."""
    try:
        cells = json.loads(text)["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells)
    except (ValueError, TypeError, KeyError):
        return text


def check_commands(path: Path, patient: Patient) -> Iterator[Diagnosis]:
    """Hold the commands in a script or notebook against each vLLM."""
    text = commands_of(path)
    for interpreter in patient.interpreters:
        if interpreter.engine is None or interpreter.engine_version is None:
            continue
        found = [*_gone(text, path, interpreter), *_without_temperature(text, path, interpreter)]
        yield from found or [
            good("commands", str(path), f"nothing in it is known to have changed in {_name(interpreter)}")
        ]


def _name(interpreter: Interpreter) -> str:
    return "" if interpreter.engine is None else f"{interpreter.engine.name} {interpreter.engine.version}"


def _gone(text: str, path: Path, interpreter: Interpreter) -> Iterator[Diagnosis]:
    version = interpreter.engine_version
    if version is None or not interpreter.bench.get("command"):
        return
    ends = version >= _SCRIPTS_END_AT_ONCE
    for script in sorted({found[0] for found in _SCRIPTS.finditer(text)}):
        verb = "serve" if "serving" in script else script.removeprefix("benchmark_").removesuffix(".py")
        greedy = verb == "serve" and version >= _NOT_GREEDY_FROM
        yield Diagnosis(
            "bench_script_gone",
            "problem" if ends else "note",
            str(path),
            f"it runs {script}, which {_name(interpreter)} {'no longer has' if ends else 'has in its repository only'}",
            why="the scripts moved into the vllm command; those of a clone only say so and end"
            if ends
            else "the scripts are moving into the vllm command; a clone must be of the same release",
            fix=f"vllm bench {verb}, with nearly the same flags{' and --temperature 0' if greedy else ''}",
        )


def _without_temperature(text: str, path: Path, interpreter: Interpreter) -> Iterator[Diagnosis]:
    version = interpreter.engine_version
    if version is None or version < _NOT_GREEDY_FROM:
        return
    if any("--temperature" not in found[0] for found in _BENCH.finditer(text)):
        yield Diagnosis(
            "bench_not_greedy",
            "problem",
            str(path),
            f"it runs `vllm bench serve` without --temperature, and {_name(interpreter)} then samples",
            why="up to vLLM 0.14 the benchmark was greedy by itself",
            fix="add --temperature 0, and --ignore-eos if arms are to do equal work",
        )
