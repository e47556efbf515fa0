"""What differs between versions of vLLM and changes speed or room: defaults, generations, memory accounting."""

from dataclasses import dataclass
from typing import Literal

NEWEST = (0, 33)

Generation = Literal["v0", "sync", "async"]


@dataclass(frozen=True)
class EngineVersion:
    """A release of vLLM as (major, minor)."""

    number: tuple[int, int]

    @classmethod
    def of(cls, text: str | None) -> "EngineVersion":
        """Read ``0.11.0`` or ``v0.25.1``; None, or what is no number, is the newest that is known."""
        parts = (text or "").lstrip("v").split(".")
        if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
            return cls(NEWEST)
        return cls((int(parts[0]), int(parts[1])))

    @property
    def generation(self) -> Generation:
        """V0 up to 0.7; V1 schedules ahead of the GPU by default from 0.15 on (its logs say so)."""
        if self.number < (0, 8):
            return "v0"
        return "sync" if self.number < (0, 15) else "async"

    @property
    def default_memory_share(self) -> float:
        """Return ``gpu_memory_utilization`` where it is not set: 0.9 up to 0.15, 0.92 from 0.23 on."""
        return 0.9 if self.number < (0, 16) else 0.92

    @property
    def graphs_in_budget(self) -> bool:
        """Say whether CUDA graphs' memory is taken off the KV cache: by default since 0.21, but not in 0.25.

        There dense models got another model runner, whose estimate of the graphs was a placeholder (vLLM issue 49224).
        """
        return self.number >= (0, 21) and self.number != (0, 25)

    def default_batched_tokens(self, memory_gib: float, device: str, model_len: int | None = None) -> int:
        """Return ``max_num_batched_tokens`` of a server: 2048, 8192 from 70 GiB on but for A100, 16384 from 160 on.

        A100 became an exception with 0.9 (vLLM pull 17885). V0 takes whole prompts of up to ``model_len`` tokens, and
        chunks beyond 32,768.
        """
        if self.generation == "v0":
            return max(2048, model_len) if model_len is not None and model_len <= 32768 else 2048
        if memory_gib >= 160:
            return 16384
        return 8192 if memory_gib >= 70 and ("A100" not in device or self.number < (0, 9)) else 2048

    def default_sequences(self, memory_gib: float, device: str) -> int:
        """Return ``max_num_seqs`` of a server: 256, and 1024 on the devices with the larger token budget since V1."""
        if self.generation == "v0":
            return 256
        return 1024 if self.default_batched_tokens(memory_gib, device) > 2048 else 256
