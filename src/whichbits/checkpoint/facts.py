"""What a checkpoint is: shapes, stored widths and bytes by part, as plain data."""

from dataclasses import dataclass, fields
from typing import Literal

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Linear:
    """One linear layer (or one expert's share of it): y = W x with W of ``outputs`` x ``inputs``.

    ``bits`` is the width in which a weight is stored; ``stored_bytes`` adds scales, zero points, order and bias.
    """

    module: str
    outputs: int
    inputs: int
    bits: int
    stored_bytes: int
    expert: bool = False

    @property
    def parameters(self) -> int:
        """Weights of the layer."""
        return self.outputs * self.inputs


@dataclass(frozen=True)
class Checkpoint:
    """A model folder in numbers. ``source`` says whether its tensors were seen, or only its config.

    ``linear_*`` leave out embedding, lm_head and vision or audio encoders. What the config does not say is None.
    """

    source: Literal["tensors", "config"]
    model_type: str
    architecture: str | None
    dtype: str | None
    """Type in which unquantised tensors are computed, as the config names it: ``bfloat16``."""
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int | None
    vocabulary: int
    max_position_embeddings: int | None
    sliding_window: int | None
    tied_embeddings: bool
    experts: int | None
    experts_per_token: int | None
    kv_elements_per_token: int
    """Numbers that a token leaves in the KV cache over all layers that have one."""
    attention_flops_per_context_token: int
    """FLOPs of attending from one new token to one token in the KV cache, over all layers."""
    parameters: int
    """All weights, packed ones unpacked, scales left out; a tied lm_head counts once."""
    linears: tuple[Linear, ...]
    linear_bits: int
    """Width in which most linear weights are stored."""
    quantized_share: float
    """Share of the linear weights that are stored in less than 16 bits."""
    total_bytes: int
    linear_bytes: int
    expert_bytes: int
    """The part of ``linear_bytes`` that belongs to routed experts; a step reads only those that it chose."""
    embedding_bytes: int
    lm_head_bytes: int
    """Bytes that the last projection reads; if tied they are the embedding's, and stored once."""
    lm_head_parameters: int
    encoder_bytes: int
    """Vision and audio towers, which decoding does not read."""
    other_bytes: int
    """Norms, routers' biases and the like."""
    quant_method: str | None
    """``gptq``, ``awq``, ``compressed-tensors``, ``fp8``, ``bitsandbytes`` …; None if the config has none."""
    config_bits: int | None
    activation_bits: int | None
    """Width of the linear layers' inputs that the config asks for; None if they stay as they are."""
    group_size: int | None
    """Weights that share a scale along the input; -1 is a whole row, None unknown."""
    symmetric: bool | None
    ignored: tuple[str, ...]
    """Modules that the config leaves unquantised, as it writes them (``re:`` starts a pattern)."""
    weight_kind: str | None = None
    """``int`` or ``fp``, where the config says which numbers the quantised weights are."""

    def kv_bytes_per_token(self, dtype_bytes: float = 2) -> float:
        """Return the KV cache bytes of one token: 2 x layers x KV heads x head size x bytes, or MLA's latent."""
        return self.kv_elements_per_token * dtype_bytes

    @property
    def linear_parameters(self) -> int:
        """Weights of all linear layers."""
        return sum(linear.parameters for linear in self.linears)

    @property
    def expert_parameters(self) -> int:
        """Weights of the routed experts."""
        return sum(linear.parameters for linear in self.linears if linear.expert)

    @property
    def effective_bits(self) -> float | None:
        """Bits a linear weight costs with its scales and zero points: 4.16 for 4 bits in groups of 128."""
        return 8 * self.linear_bytes / self.linear_parameters if self.linear_parameters else None

    def scalars(self) -> dict[str, Scalar]:
        """Return all that is one value, by name, as the record keeps facts: no list of layers or exceptions."""
        other = ("source", "linears", "ignored")
        plain: dict[str, Scalar] = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in other
        }
        return plain | {
            "checkpoint_source": self.source,
            "linear_parameters": self.linear_parameters,
            "expert_parameters": self.expert_parameters,
            "effective_bits": self.effective_bits,
        }
