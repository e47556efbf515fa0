"""What one decode step of a model must read and compute, from the facts of its checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from whichbits.checkpoint.facts import Checkpoint

_NARROW_KV = ("fp8", "int8", "u8", "i8")


@dataclass(frozen=True)
class DecodeWork:
    """A model's sizes as a decode step meets them; bytes are as stored, scales and zero points included."""

    parameters: int
    linear_parameters: int
    linear_bytes: int
    lm_head_parameters: int
    lm_head_bytes: int
    other_bytes: int
    embedding_bytes: int
    vocabulary: int
    kv_elements_per_token: int
    attention_flops_per_context_token: int
    expert_parameters: int = 0
    expert_bytes: int = 0
    experts: int | None = None
    experts_per_token: int | None = None

    @classmethod
    def of_checkpoint(cls, checkpoint: Checkpoint) -> Self:
        """Take the sizes of a checkpoint."""
        return cls(**{each.name: getattr(checkpoint, each.name) for each in fields(cls)})

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Self | None:
        """Take the sizes from an arm's facts; None if one that matters is missing."""
        found = {each.name: facts[each.name] for each in fields(cls) if facts.get(each.name) is not None}
        needed = [each.name for each in fields(cls) if not each.name.startswith("expert")]
        return cls(**found) if all(name in found for name in needed) else None

    def weight_bytes(self, batch: float) -> float:
        """Return the weights that a step of ``batch`` requests reads.

        All linear layers, lm_head and norms once, of the input embedding one row a request. Of routed experts those
        that some request chose; with choices taken as uniform, each is chosen with 1 - (1 - k/E)^batch.
        """
        rows = batch * self.embedding_bytes / self.vocabulary
        dense = self.linear_bytes - self.expert_bytes
        return dense + self.expert_bytes * self._chosen(batch) + self.lm_head_bytes + self.other_bytes + rows

    def kv_bytes(self, batch: float, context_tokens: float, element_bytes: float) -> float:
        """Return the KV cache that a step reads: every running request's tokens."""
        return batch * context_tokens * self.kv_elements_per_token * element_bytes

    def linear_flops(self, batch: float) -> float:
        """Return the FLOPs of the linear layers: 2 a weight and request, of experts only the chosen ones'."""
        active = 1.0
        if self.experts and self.experts_per_token:
            active = self.experts_per_token / self.experts
        return 2 * batch * (self.linear_parameters - self.expert_parameters * (1 - active))

    def wide_flops(self, batch: float, context_tokens: float) -> float:
        """Return the FLOPs that stay in 16 bits whatever the format: lm_head and attention."""
        attention = self.attention_flops_per_context_token * context_tokens
        return batch * (2 * self.lm_head_parameters + attention)

    def _chosen(self, batch: float) -> float:
        if not self.experts or not self.experts_per_token:
            return 1.0
        missed: float = (1 - self.experts_per_token / self.experts) ** max(batch, 1.0)
        return 1 - missed


def kv_element_bytes(kv_cache_dtype: object) -> float:
    """Return the bytes of a number in the KV cache by the type that the engine names; ``auto`` and silence are 2."""
    return 1 if str(kv_cache_dtype).lower().startswith(_NARROW_KV) else 2
