"""``whichbits arms``: W8A8 and W4A16 checkpoints of one 16-bit model."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console

from whichbits.arms.llm_compressor.launch import Interpreter
from whichbits.arms.order import Order, carry_out, source_of
from whichbits.arms.recipe import FORMATS, Wishes
from whichbits.cli.lang import Lang
from whichbits.language.language import language
from whichbits.report.arms import arms_json, print_arm


def arms(
    model: str,
    *,
    formats: str = ",".join(FORMATS),
    scheme: str = "compressed-tensors",
    group_size: int = 128,
    asymmetric: Annotated[bool, Parameter(negative=())] = False,
    fp8_scales: str = "channel",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    made_with: Annotated[Literal["llm-compressor"] | None, Parameter(name="--with")] = None,
    python: Path | None = None,
    calibration: Path | None = None,
    workers: int | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    lang: Lang = "en",
) -> int:
    """Make W8A8 and W4A16 checkpoints of a 16-bit one, and check each by reading it back.

    Args:
        model: A Hugging Face checkpoint folder in 16 bits, a .gguf file, or a built-in model's name.
        formats: Some of w8a8-fp8, w8a8-int8 and w4a16, separated by commas; of a GGUF file bf16 and fp16, too.
        scheme: How W4A16 is stored: compressed-tensors, gptq or awq.
        group_size: Weights along the input that share a scale in W4A16.
        asymmetric: Give W4A16 zero points; AWQ has them always.
        fp8_scales: One FP8 scale for each row (channel) or for a matrix (tensor).
        output: The folder for the arms' folders; MODEL-arms where this is not given.
        made_with: Leave the rounding to llm-compressor, which needs torch and for large models a GPU.
        python: The interpreter that has llm-compressor.
        calibration: Texts for llm-compressor, one a line.
        workers: Threads; as many as cores, but at most four, where this is not given.
        json: Print one JSON object on stdout.
        lang: Language of what is printed; the JSON object stays English.
    """
    order = Order(
        model=model,
        formats=[name.strip() for name in formats.split(",") if name.strip()],
        wishes=Wishes(scheme, group_size, not asymmetric, fp8_scales),
        output=output or Path(f"{Path(model).name.removesuffix('.gguf')}-arms"),
        workers=workers or min(len(os.sched_getaffinity(0)), 4),
        llm_compressor=Interpreter(python or Path(sys.executable), calibration) if made_with else None,
    )
    source, console = source_of(order), Console(stderr=json)
    made = []
    for arm in carry_out(order, source):
        print_arm(arm, source.checkpoint, console, language(lang))
        made.append(arm)
    if json:
        print(msgspec.json.encode(arms_json(source.checkpoint, made)).decode())
    return 0
