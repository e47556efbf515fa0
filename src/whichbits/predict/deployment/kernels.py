"""Which kernel multiplies: checkpoint format, compute capability and engine version decide, as vLLM's choosers do.

Read from vLLM 0.6.6 to 0.33 (``model_executor/layers/quantization``, ``model_executor/kernels/linear``). Names are
those that the engine's log prints.
"""

from dataclasses import dataclass
from typing import Literal

from whichbits.checkpoint.facts import Checkpoint
from whichbits.errors import BadInput
from whichbits.predict.deployment.engine_version import EngineVersion
from whichbits.study.arm import Arm

Architecture = Literal["turing", "ampere_server", "ampere", "ada", "hopper", "blackwell", "cdna3"]
Family = Literal[
    "dense", "cutlass_fp8", "block_fp8", "cutlass_int8", "marlin", "machete", "nvfp4", "awq", "exllama", "dequantise"
]
Capability = tuple[int, int]
"""CUDA's compute capability."""


@dataclass(frozen=True)
class Kernel:
    """``name`` is what the log prints, None where it prints nothing; ``operands`` is what the tensor cores multiply.

    From ``widens_at`` tokens on, if given, it writes the weights out in 16 bits and multiplies these.
    """

    name: str | None
    family: Family
    operands: Literal["16", "fp8", "int8", "fp4"]
    note: str | None = None
    widens_at: int | None = None


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


def kernel_of(checkpoint: Checkpoint, arm: Arm, capability: Capability | None, version: EngineVersion) -> Kernel:
    """Return the kernel of the quantised linear layers; a GPU of AMD has no capability.

    The arm says whether eight bits are integers where a checkpoint's facts do not, and whether a method is forced.

    Raises:
        BadInput: ``kernel_impossible`` where the engine refuses the combination; the message names one that works.
    """
    if checkpoint.linear_bits >= 16:
        return _sixteen_bits(arm, capability)
    if capability is None:
        return _rocm(checkpoint, arm)
    if checkpoint.activation_bits is None:
        return _wide_inputs(checkpoint, arm, capability, version)
    if checkpoint.linear_bits == 8:
        return _eight_bits(checkpoint, arm, capability, version)
    return _four_bits(checkpoint.activation_bits, capability)


def _wide_inputs(checkpoint: Checkpoint, arm: Arm, capability: Capability, version: EngineVersion) -> Kernel:
    if checkpoint.quant_method in ("fp8", "modelopt"):
        return _weight_only_fp8(capability)
    if checkpoint.quant_method == "bitsandbytes":
        return Kernel(None, "dequantise", "16", "bitsandbytes dequantises for every product")
    return _weight_only(checkpoint, capability, version, arm.quantization)


def _sixteen_bits(arm: Arm, capability: Capability | None) -> Kernel:
    if arm.weight_format == "w4a8-int8":
        raise _impossible("INT8 activations with 4-bit weights have no kernel", "vLLM has it on CPUs only", "w4a16")
    if arm.weight_format == "fp32":
        raise _impossible("32-bit products are not predicted", "no table has them", "bf16 or fp16")
    in_half = arm.dtype in ("float16", "half")
    if arm.weight_format == "bf16" and not in_half and capability is not None and capability < (8, 0):
        raise _impossible("BF16 needs compute capability 8.0", "tensor cores before Ampere have FP16 only", "fp16")
    return _DENSE


def _rocm(checkpoint: Checkpoint, arm: Arm) -> Kernel:
    """Return what vLLM has on AMD's GPUs: neither Marlin nor Machete, and names that its logs do not print."""
    if checkpoint.linear_bits == 8 and checkpoint.activation_bits == 8:
        if _integers(checkpoint, arm):
            return Kernel(None, "cutlass_int8", "int8", "INT8 by Triton or AITER")
        family: Family = "cutlass_fp8" if checkpoint.group_size in (None, -1) else "block_fp8"
        return Kernel(None, family, "fp8", "FP8 by hipBLASLt or AITER")
    if checkpoint.quant_method == "awq":
        return Kernel(None, "awq", "16", "AWQ by Triton: there is no Marlin on ROCm")
    return Kernel("ExllamaLinearKernel", "exllama", "16", "there is no Marlin on ROCm")


def _integers(checkpoint: Checkpoint, arm: Arm) -> bool:
    """Whether eight bits are integers: the config says so, or else the arm."""
    return arm.weight_format == "w8a8-int8" if checkpoint.weight_kind is None else checkpoint.weight_kind == "int"


def _four_bits(activations: int, capability: Capability) -> Kernel:
    """Return the kernel of 4-bit weights with quantised inputs: NVFP4, or W4A8 with FP8."""
    if activations == 8:
        if capability[0] != 9:
            raise _impossible("W4A8 needs compute capability 9.0", "its only kernel is CUTLASS's for Hopper", "w4a16")
        return Kernel("CutlassW4A8LinearKernel", "machete", "fp8", "no table has W4A8: taken as Machete on FP8 units")
    if capability >= (10, 0):
        return Kernel(None, "nvfp4", "fp4")
    note = "no FP4 tensor cores: weights are read in 4 bits and multiplied in 16"
    return Kernel(None, "marlin", "16", note)


def _eight_bits(checkpoint: Checkpoint, arm: Arm, capability: Capability, version: EngineVersion) -> Kernel:
    if _integers(checkpoint, arm):
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
    if _allspark(checkpoint, capability, version):
        return Kernel("AllSparkLinearKernel", "marlin", "16", "no table has AllSpark: taken as Marlin")
    if capability[0] == 9 and not (method == "awq" and version.number < (0, 23)):
        return Kernel("MacheteLinearKernel", "machete", "16")
    return Kernel("MarlinLinearKernel", "marlin", "16")


def _allspark(checkpoint: Checkpoint, capability: Capability, version: EngineVersion) -> bool:
    """Whether V1 up to 0.15 takes AllSpark, which comes before Marlin: 8 bits, a scale a row, Ampere and Ada."""
    rows = checkpoint.linear_bits == 8 and checkpoint.group_size == -1 and checkpoint.symmetric is not False
    return rows and (8, 0) <= capability < (9, 0) and (0, 8) <= version.number < (0, 23)


def _legacy(method: str) -> Kernel:
    """Return the kernels of before Marlin; where they widen is in ``awq.py`` and ``q_gemm.cu``."""
    if method == "awq":
        return Kernel(None, "awq", "16", "the legacy AWQ kernel: leave `quantization` out to get Marlin", 256)
    note = "the legacy GPTQ kernel: leave `quantization` out for Marlin"
    return Kernel("ExllamaLinearKernel", "exllama", "16", note, 50)


def _scaled(name: str, version: EngineVersion) -> str:
    """Return the class of W8A8 kernels, of which there was one for both types before 0.15."""
    return name if version.number >= (0, 15) else "CutlassScaledMMLinearKernel"


def _impossible(what: str, why: str, instead: str) -> BadInput:
    return BadInput("kernel_impossible", what, why=why, fix=f"use {instead} on this GPU")
