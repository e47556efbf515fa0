"""Which classes of GPU run an arm, with which kernel, and which do so natively: multiply in the arm's own numbers."""

from dataclasses import dataclass

from whichbits.arms.recipe import Recipe
from whichbits.checkpoint.facts import Checkpoint
from whichbits.errors import BadInput
from whichbits.predict.deployment.engine_version import EngineVersion
from whichbits.predict.deployment.kernels import Kernel, kernel_of
from whichbits.study.arm import Arm

_CLASSES: tuple[tuple[str, tuple[int, int]], ...] = (
    ("Turing (T4)", (7, 5)),
    ("Ampere server (A100)", (8, 0)),
    ("Ampere (A10, A6000)", (8, 6)),
    ("Ada (L4, L40S)", (8, 9)),
    ("Hopper (H100, H200)", (9, 0)),
    ("Blackwell (B200)", (10, 0)),
)

_OPERANDS = {
    "int8": "multiplied in INT8",
    "fp8": "multiplied in FP8",
    "16": "weights are unpacked on the way, and multiplied in 16 bits",
}


@dataclass(frozen=True)
class GpuClass:
    """One class and the kernel that the newest known vLLM chooses there; None where it refuses, with the reason."""

    name: str
    kernel: Kernel | None
    note: str

    @property
    def native(self) -> bool:
        """Whether a kernel that is made for the format runs: W8A8 in 8 bits, W4A16 unpacked on the way to 16."""
        return self.kernel is not None and self.kernel.note is None


def gpu_classes(checkpoint: Checkpoint, recipe: Recipe) -> tuple[GpuClass, ...]:
    """Return what each class of GPU does with an arm."""
    return tuple(_on(name, capability, checkpoint, recipe) for name, capability in _CLASSES)


def _on(name: str, capability: tuple[int, int], checkpoint: Checkpoint, recipe: Recipe) -> GpuClass:
    arm = Arm.model_validate({"weight_format": recipe.weight_format, "model": "made here", "engine": "vllm"})
    try:
        kernel = kernel_of(checkpoint, arm, capability, EngineVersion.of(None))
    except BadInput as refusal:
        return GpuClass(name, None, refusal.what)
    return GpuClass(name, kernel, kernel.note or _OPERANDS[kernel.operands])
