"""Arms on a terminal: how large, how far from the source, what stayed wide, and where each runs as it is stored."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console

from whichbits.arms.gpus import GpuClass, gpu_classes
from whichbits.arms.provenance import Arm
from whichbits.checkpoint.facts import Checkpoint
from whichbits.checkpoint.read import read_checkpoint
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import joined, phrase
from whichbits.language.recognition import tell

_EXPECTED_TO_STAY = ("embedding", "lm_head")


def print_arm(arm: Arm, source: Checkpoint, console: Console, spoken: Language = ENGLISH) -> None:
    """Print one arm when it is made."""
    console.print(f"[bold]{arm.recipe.name}[/bold]  {arm.folder}", highlight=False, soft_wrap=True)
    classes = gpu_classes(read_checkpoint(arm.folder), arm.recipe)
    for line in (*_lines(arm, source, spoken), *_kernels(classes, spoken)):
        console.print(f"  {spoken.say(line)}", highlight=False, soft_wrap=True, markup=False)


def arms_json(source: Checkpoint, arms: Iterable[Arm]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "schema_version": 1,
        "source_bytes": source.total_bytes,
        "arms": [_as_json(arm) for arm in arms],
    }


def _lines(arm: Arm, source: Checkpoint, spoken: Language) -> Iterator[str]:
    worst = arm.worst
    share = arm.bytes.stored / source.total_bytes
    yield phrase("{size:.2f} GB, {share:.0%} of the source", size=arm.bytes.stored / 1e9, share=share)
    if worst is not None:
        yield phrase(
            "weights off by {error:.2%} (root mean square), {worst:.2%} in {module}",
            error=arm.typical_error,
            worst=worst.relative,
            module=worst.module,
        )
        if worst.expected:
            yield phrase("rounding to nearest leaves {expected:.2%} there", expected=worst.expected)
    counted = Counter(reason for reason in arm.kept.values() if reason not in _EXPECTED_TO_STAY)
    for reason, count in counted.items():
        yield phrase(
            "{matrices} kept as before: {reason}", matrices=amount(count, "matrix"), reason=tell(reason, spoken)
        )
    if arm.recipe.scheme == "gptq" and not arm.recipe.symmetric:
        yield phrase("vLLM 0.32 refuses GPTQ files with zero points; compressed-tensors and AWQ may have them")


def _kernels(classes: Iterable[GpuClass], spoken: Language) -> Iterator[str]:
    """One line for each kernel, with the classes of GPU that run it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for each in classes:
        kernel = phrase("cannot run") if each.kernel is None else each.kernel.name or each.kernel.family
        rows.setdefault((kernel, each.note), []).append(each.name)
    for (kernel, note), names in rows.items():
        yield joined("", (", ".join(names), ": ", kernel, ", ", tell(note, spoken)))


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
