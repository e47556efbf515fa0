"""Arms on a terminal: how large, how far from the source, what stayed wide, and where each runs as it is stored."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console

from whichbits.arms.gpus import GpuClass, gpu_classes
from whichbits.arms.provenance import Arm
from whichbits.checkpoint.facts import Checkpoint
from whichbits.checkpoint.read import read_checkpoint

_EXPECTED_TO_STAY = ("embedding", "lm_head")


def print_arm(arm: Arm, source: Checkpoint, console: Console) -> None:
    """Print one arm when it is made."""
    console.print(f"[bold]{arm.recipe.name}[/bold]  {arm.folder}", highlight=False, soft_wrap=True)
    classes = gpu_classes(read_checkpoint(arm.folder), arm.recipe)
    for line in (*_lines(arm, source), *_kernels(classes)):
        console.print(f"  {line}", highlight=False, soft_wrap=True, markup=False)


def arms_json(source: Checkpoint, arms: Iterable[Arm]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "schema_version": 1,
        "source_bytes": source.total_bytes,
        "arms": [_as_json(arm) for arm in arms],
    }


def _lines(arm: Arm, source: Checkpoint) -> Iterator[str]:
    worst = arm.worst
    yield f"{arm.bytes.stored / 1e9:.2f} GB, {arm.bytes.stored / source.total_bytes:.0%} of the source"
    if worst is not None:
        yield f"weights off by {arm.typical_error:.2%} (root mean square), {worst.relative:.2%} in {worst.module}"
        if worst.expected:
            yield f"rounding to nearest leaves {worst.expected:.2%} there"
    counted = Counter(reason for reason in arm.kept.values() if reason not in _EXPECTED_TO_STAY)
    for reason, count in counted.items():
        yield f"{count} matrices stay as they were: {reason}"
    if arm.recipe.scheme == "gptq" and not arm.recipe.symmetric:
        yield "vLLM 0.32 refuses GPTQ files with zero points; compressed-tensors and AWQ may have them"


def _kernels(classes: Iterable[GpuClass]) -> Iterator[str]:
    """One line for each kernel, with the classes of GPU that run it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for each in classes:
        kernel = "cannot run" if each.kernel is None else each.kernel.name or each.kernel.family
        rows.setdefault((kernel, each.note), []).append(each.name)
    for (kernel, note), names in rows.items():
        yield f"{', '.join(names)}: {kernel}, {note}"


def _as_json(arm: Arm) -> dict[str, Any]:
    worst = arm.worst
    return {
        "name": arm.recipe.name,
        "folder": str(arm.folder),
        "weight_format": arm.recipe.weight_format,
        "scheme": arm.recipe.scheme,
        "bytes": arm.bytes.stored,
        "predicted_bytes": arm.bytes.predicted,
        "quantised_share": arm.share,
        "relative_error": arm.typical_error,
        "worst_layer": None if worst is None else {"module": worst.module, "relative_error": worst.relative},
        "kept": dict(arm.kept),
        "gpus": [
            {"class": each.name, "kernel": each.kernel and each.kernel.name, "native": each.native, "note": each.note}
            for each in gpu_classes(read_checkpoint(arm.folder), arm.recipe)
        ],
    }
