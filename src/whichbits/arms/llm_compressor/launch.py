"""Runs llm-compressor for one arm, and holds what it made to the same proof as our own.

Its interface is that of its documentation (``oneshot``, ``QuantizationModifier``, ``GPTQModifier``; 0.6 to 0.11).
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import yaml

from whichbits.arms.declaration import declare
from whichbits.arms.files.folder import appearing, copy_missing
from whichbits.arms.files.source import Source
from whichbits.arms.make import Plan
from whichbits.arms.provenance import Arm, write_provenance
from whichbits.arms.verify import bytes_of, layer_errors
from whichbits.checkpoint.safetensors import read_tensors
from whichbits.errors import BadInput
from whichbits.hardware.answering import answer, python_silent

SAMPLES, TOKENS = 512, 2048
_LAST_LINES = 3
_SECONDS = 60.0
"""For the interpreter to say whether it has llm-compressor."""
_READERS = 2


@dataclass(frozen=True)
class Interpreter:
    """Where llm-compressor is installed, and the texts to calibrate on, one a line."""

    python: Path
    calibration: Path | None


def recipe_text(plan: Plan) -> str:
    """Return llm-compressor's recipe for the layers that the plan chose.

    FP8 is rounded to nearest, which needs no data; integers are fitted to the texts by GPTQ.
    """
    declared = declare({}, plan.recipe, plan.choice)["quantization_config"]
    modifier = {"ignore": declared["ignore"], "config_groups": declared["config_groups"]}
    name = "GPTQModifier" if needs_texts(plan) else "QuantizationModifier"
    recipe: str = yaml.safe_dump({"quant_stage": {"quant_modifiers": {name: modifier}}}, sort_keys=False)
    return recipe


def needs_texts(plan: Plan) -> bool:
    """Say whether the recipe calibrates."""
    return plan.recipe.kind == "int"


def insist_on_ready(plan: Plan, interpreter: Interpreter) -> None:
    """Refuse what llm-compressor cannot make here, before it starts.

    Raises:
        BadInput: ``arm_scheme_unknown``, ``arm_calibration_missing`` or ``llm_compressor_missing``.
    """
    if plan.recipe.scheme != "compressed-tensors":
        raise BadInput(
            "arm_scheme_unknown",
            f"llm-compressor does not write {plan.recipe.scheme}",
            why="it stores what it makes as compressed-tensors, which vLLM and SGLang read",
            fix="leave --scheme out",
        )
    if needs_texts(plan) and (interpreter.calibration is None or not interpreter.calibration.is_file()):
        raise BadInput(
            "arm_calibration_missing",
            f"{plan.recipe.name} needs texts to calibrate on, and {interpreter.calibration or 'none'} is no file",
            why="GPTQ fits its rounding to activations; texts unlike your traffic fit it to something else",
            fix=f"give --calibration FILE with up to {SAMPLES} texts of your traffic, one a line",
        )
    _insist_on_program(interpreter.python)


def compress(source: Source, plan: Plan, output: Path, hashes: Mapping[str, str], interpreter: Interpreter) -> Arm:
    """Make one arm; it appears only when all of it was read back.

    Raises:
        BadInput: ``llm_compressor_failed``, or what ``insist_on_ready`` refuses.
        ArmMismatch: ``arm_error_too_large`` or ``arm_not_recognised``.
    """
    with appearing(output / plan.recipe.name) as folder:
        _run(source, plan, folder, interpreter, output / f"{plan.recipe.name}.log")
        copy_missing(source.folder, folder)
        scales_as = _scales_as(plan, folder)
        sizes = bytes_of(folder, source, plan.recipe)
        errors = tuple(layer_errors(folder, plan.choice.quantised, plan.recipe, scales_as, _READERS))
        arm = Arm(output / plan.recipe.name, plan.recipe, errors, plan.choice.kept, plan.choice.share, sizes)
        write_provenance(folder, arm, source, hashes, how="llm-compressor")
    return arm


def job_of(source: Source, plan: Plan, folder: Path, interpreter: Interpreter) -> dict[str, Any]:
    """Return what the program is told."""
    texts = interpreter.calibration if needs_texts(plan) else None
    return {
        "model": str(source.folder.resolve()),
        "output": str(folder.resolve()),
        "recipe": recipe_text(plan),
        "calibration": None if texts is None else str(texts.resolve()),
        "samples": SAMPLES,
        "tokens": TOKENS,
    }


def _run(source: Source, plan: Plan, folder: Path, interpreter: Interpreter, log: Path) -> None:
    """Run the program; what it prints goes to ``log``, which stays."""
    job = folder / "job.json"
    job.write_text(json.dumps(job_of(source, plan, folder, interpreter)), encoding="utf-8")
    with as_file(files("whichbits.arms.llm_compressor") / "program.py") as program, log.open("w") as said:
        command = [str(interpreter.python), str(program), str(job)]
        code = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, check=False
        ).returncode
    job.unlink()
    if code:
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_LAST_LINES:]
        raise BadInput(
            "llm_compressor_failed",
            f"llm-compressor ended with exit code {code}: {' / '.join(last) or 'it said nothing'}",
            why="the model does not fit the GPU's memory, is of a kind that it does not know, or its version differs",
            fix=f"read {log}, or leave --with out and round to nearest",
        )


def _scales_as(plan: Plan, folder: Path) -> dict[str, str]:
    tensors = read_tensors(folder)
    return {
        matrix.module: tensors[name].dtype
        for matrix in plan.choice.quantised
        if (name := f"{matrix.module}.weight_scale") in tensors
    }


def _insist_on_program(python: Path) -> None:
    question = (
        "import importlib.util as i, sys; sys.exit(not (i.find_spec('llmcompressor') and i.find_spec('datasets')))"
    )
    try:
        answer([str(python), "-c", question], _SECONDS)
        found = True
    except subprocess.TimeoutExpired as silence:
        raise python_silent(str(python), silence.timeout) from silence
    except (OSError, subprocess.CalledProcessError):
        found = False
    if not found:
        raise BadInput(
            "llm_compressor_missing",
            f"{python} has no llm-compressor",
            why="it lives in an environment of its own, since it pins torch and transformers",
            fix="pip install llmcompressor there, and name its interpreter with --python",
        )
