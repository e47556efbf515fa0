"""An arm on a GPU: everything that decides how fast its steps are and how much its KV cache holds."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from whichbits.checkpoint.facts import Checkpoint
from whichbits.errors import BadInput
from whichbits.hardware.devices import Device, find_device
from whichbits.predict.constants import visible_memory_gib
from whichbits.predict.deployment.engine_version import EngineVersion
from whichbits.predict.deployment.kernels import Architecture, Kernel, architecture_of, kernel_of
from whichbits.predict.deployment.matrices import Matrix, matrices_of
from whichbits.predict.deployment.models import checkpoint_of
from whichbits.study.arm import Arm
from whichbits.study.gpus import shares

_AMD = ("MI300X",)


@dataclass(frozen=True)
class Deployment:
    """One replica. ``gpus`` share its weights (tensor parallel)."""

    arm: Arm
    checkpoint: Checkpoint
    device: Device
    architecture: Architecture
    kernel: Kernel
    version: EngineVersion
    gpus: int
    memory_gib: float
    """What a process sees of one GPU."""

    @classmethod
    def of(cls, arm: Arm, gpu: str, engine_version: str | None) -> "Deployment":
        """Put an arm on a GPU.

        Raises:
            BadInput: the GPU or the model is unknown, or no kernel serves this format there.
        """
        if arm.weight_format == "unknown":
            raise _formatless(arm)
        device = find_device(gpu)
        capability = None if device.name in _AMD else _capability(device)
        checkpoint = checkpoint_of(arm)
        version = EngineVersion.of(engine_version)
        return cls(
            arm=arm,
            checkpoint=checkpoint,
            device=device,
            architecture="cdna3" if capability is None else architecture_of(capability),
            kernel=kernel_of(checkpoint, arm, capability, version),
            version=version,
            gpus=arm.tensor_parallel_size or 1,
            memory_gib=visible_memory_gib().get(device.name, device.memory.value * 0.93),
        )

    @property
    def max_num_batched_tokens(self) -> int:
        """The arm's own setting, or the engine's default on this device."""
        own = self.arm.max_num_batched_tokens
        longest = self.arm.max_model_len or self.checkpoint.max_position_embeddings
        return own or self.version.default_batched_tokens(self.device.memory.value, self.device.name, longest)

    @property
    def max_num_seqs(self) -> int:
        """The arm's own setting, or the engine's default, and never more than a step has tokens."""
        own = self.arm.max_num_seqs or self.version.default_sequences(self.device.memory.value, self.device.name)
        return min(own, self.max_num_batched_tokens)

    @cached_property
    def matrices(self) -> list[Matrix]:
        """One GPU's products of a step, by shape."""
        return matrices_of(self.checkpoint, self.gpus)

    @property
    def placing(self) -> tuple[tuple[int, ...], ...] | None:
        """The GPUs of each of the arm's replicas, if any two have one in common; else None."""
        return self._gpus_of_each if self.replicas_on_a_gpu > 1 else None

    @property
    def replicas_on_a_gpu(self) -> int:
        """How many of the arm's replicas the fullest GPU has to hold."""
        named = Counter(gpu for each in self._gpus_of_each for gpu in each)
        return max(named.values(), default=1)

    @cached_property
    def _gpus_of_each(self) -> tuple[tuple[int, ...], ...]:
        gpus, replicas = self.arm.gpus, self.arm.replicas
        return () if gpus is None or replicas == 1 else shares(gpus, replicas, self.gpus)

    @property
    def eager(self) -> bool:
        """Whether steps run without CUDA graphs."""
        return bool(self.arm.enforce_eager)

    @property
    def kv_bytes_per_token(self) -> float:
        """Bytes that a token takes of each GPU's KV cache: its share of the heads; MLA's latent is held by each."""
        width = 1 if (self.arm.kv_cache_dtype or "auto").startswith("fp8") else 2
        latent = any("kv_a_proj" in linear.module for linear in self.checkpoint.linears)
        shares = 1 if latent else min(self.gpus, self.checkpoint.kv_heads)
        return self.checkpoint.kv_bytes_per_token(width) / shares


def _formatless(arm: Arm) -> BadInput:
    return BadInput(
        "format_unknown",
        f"nothing can be predicted of {arm.model}: its weight_format is unknown",
        why="how fast a step is follows from the bits of its weights",
        fix="name the arm's weight_format",
    )


def _capability(device: Device) -> tuple[int, int]:
    major, _, minor = (device.compute_capability or "").partition(".")
    if not (major.isdigit() and minor.isdigit()):
        raise BadInput(
            "capability_unsupported",
            f"{device.name} has no CUDA compute capability",
            why="predictions cover NVIDIA GPUs from Turing (7.5) on, and MI300X",
            fix="choose another GPU, or measure on this one",
        )
    return int(major), int(minor)
