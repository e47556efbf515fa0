"""Which kernel multiplies: checkpoint format, compute capability and engine version decide, as vLLM's choosers do.

Read from vLLM 0.6.6 to 0.33 (``model_executor/layers/quantization``, ``model_executor/kernels/linear``). Names are
those that the engine's log prints.
"""

from dataclasses import dataclass
from typing import Literal

from whichbits.checkpoint.facts import Checkpoint
from whichbits.errors import BadInput
from whichbits.predict.engine_version import EngineVersion
from whichbits.study.arm import Arm

Architecture = Literal["turing", "ampere_server", "ampere", "ada", "hopper", "blackwell"]
Family = Literal[
    "dense", "cutlass_fp8", "block_fp8", "cutlass_int8", "marlin", "machete", "awq", "exllama", "dequantise"
]
Capability = tuple[int, int]


@dataclass(frozen=True)
class Kernel:
    """``name`` is what the log prints, None where it prints nothing; ``operands`` is what the tensor cores multiply."""

    name: str | None
    family: Family
    operands: Literal["16", "fp8", "int8"]
    note: str | None = None


_DENSE = Kernel(None, "dense", "16")


def architecture_of(capability: Capability) -> Architecture:
    """Return the architecture of a compute capability.

    Raises:
        BadInput: ``capability_unsupported`` below 7.5.
    """
    match capability:
        case (7, 5):
            return "turing"
        case (8, 0):
            return "ampere_server"
        case (8, 6 | 7):
            return "ampere"
        case (8, 9):
            return "ada"
        case (9, _):
            return "hopper"
        case (major, _) if major >= 10:
            return "blackwell"
    raise BadInput(
        "capability_unsupported",
        f"there are no constants for compute capability {capability[0]}.{capability[1]}",
        why="predictions cover NVIDIA GPUs from Turing (7.5) on",
        fix="choose another GPU, or measure on this one",
    )


def kernel_of(checkpoint: Checkpoint, arm: Arm, capability: Capability, version: EngineVersion) -> Kernel:
    """Return the kernel of the quantised linear layers.

    The arm says whether eight bits are integers, which a checkpoint's facts do not, and whether a method is forced.

    Raises:
        BadInput: ``kernel_impossible`` where the engine refuses the combination; the message names one that works.
    """
    if checkpoint.linear_bits >= 16:
        return _DENSE
    if checkpoint.linear_bits == 8 and checkpoint.activation_bits == 8:
        return _eight_bits(checkpoint, arm, capability, version)
    if checkpoint.quant_method in ("fp8", "modelopt"):
        return _weight_only_fp8(capability)
    if checkpoint.quant_method == "bitsandbytes":
        return Kernel(None, "dequantise", "16", "bitsandbytes dequantises for every product")
    return _weight_only(checkpoint, capability, version, arm.quantization)


def _eight_bits(checkpoint: Checkpoint, arm: Arm, capability: Capability, version: EngineVersion) -> Kernel:
    if arm.weight_format == "w8a8-int8":
        return _int8(capability, version)
    if capability < (8, 9):
        return _weight_only_fp8(capability)
    if checkpoint.group_size not in (None, -1):
        return _block_fp8(capability)
    return Kernel(_scaled("CutlassFP8ScaledMMLinearKernel", version), "cutlass_fp8", "fp8")


def _int8(capability: Capability, version: EngineVersion) -> Kernel:
    if capability >= (10, 0):
        raise _impossible(
            "INT8 W8A8 has no kernel on Blackwell", "vLLM's INT8 kernels end at compute capability 9.0", "w8a8-fp8"
        )
    return Kernel(_scaled("CutlassInt8ScaledMMLinearKernel", version), "cutlass_int8", "int8")


def _block_fp8(capability: Capability) -> Kernel:
    if capability < (9, 0):
        note = "block-wise FP8 runs on untuned Triton kernels here: slower than 16 bits"
        return Kernel("TritonFp8BlockScaledMMKernel", "block_fp8", "fp8", note)
    return Kernel("DeepGemmFp8BlockScaledMMKernel", "block_fp8", "fp8")


def _weight_only_fp8(capability: Capability) -> Kernel:
    if capability < (7, 5):
        raise _impossible("FP8 weights need compute capability 7.5", "Marlin starts at Turing", "fp16")
    note = "no FP8 tensor cores: weights are read in 8 bits and multiplied in 16"
    return Kernel("MarlinFP8ScaledMMLinearKernel", "marlin", "16", note)


def _weight_only(
    checkpoint: Checkpoint, capability: Capability, version: EngineVersion, quantization: str | None
) -> Kernel:
    method = checkpoint.quant_method
    if quantization in ("awq", "gptq") and version.number < (0, 23):
        return _legacy(quantization)
    if capability < (7, 5) or (capability < (8, 0) and version.number < (0, 15)):
        if method == "awq" and capability < (7, 5):
            raise _impossible("AWQ needs compute capability 7.5", "its kernels start at Turing", "GPTQ")
        return _legacy("awq" if method == "awq" else "gptq")
    if capability[0] == 9 and not (method == "awq" and version.number < (0, 23)):
        return Kernel("MacheteLinearKernel", "machete", "16")
    return Kernel("MarlinLinearKernel", "marlin", "16")


def _legacy(method: str) -> Kernel:
    if method == "awq":
        return Kernel(None, "awq", "16", "the legacy AWQ kernel: leave `quantization` out to get Marlin")
    return Kernel("ExllamaLinearKernel", "exllama", "16", "the legacy GPTQ kernel: leave `quantization` out for Marlin")


def _scaled(name: str, version: EngineVersion) -> str:
    """Return the class of W8A8 kernels, of which there was one for both types before 0.15."""
    return name if version.number >= (0, 15) else "CutlassScaledMMLinearKernel"


def _impossible(what: str, why: str, instead: str) -> BadInput:
    return BadInput("kernel_impossible", what, why=why, fix=f"use {instead} on this GPU")
