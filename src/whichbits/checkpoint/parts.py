"""A checkpoint's bytes by part: linear layers in their stored width, embedding, lm_head, encoders, the rest."""

from dataclasses import dataclass

from whichbits.checkpoint.facts import Linear

_ENCODERS = ("visual", "vision_tower", "vision_model", "audio_tower", "multi_modal_projector", "vision_embed_tokens")
_EMBEDDINGS = ("embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embed_in", "wpe", "embed_positions")
_HEADS = ("lm_head", "output", "embed_out")


@dataclass(frozen=True)
class Parts:
    """What lies where. ``lm_head_bytes`` is 0 if no head is stored, because it is tied to the embedding."""

    linears: tuple[Linear, ...]
    total_bytes: int
    embedding_bytes: int
    lm_head_bytes: int
    encoder_bytes: int
    parameters: int

    @property
    def linear_bytes(self) -> int:
        """Bytes of all linear layers."""
        return sum(linear.stored_bytes for linear in self.linears)

    @property
    def expert_bytes(self) -> int:
        """Bytes of the routed experts."""
        return sum(linear.stored_bytes for linear in self.linears if linear.expert)

    @property
    def linear_bits(self) -> int:
        """Width in which most linear weights are stored; 16 if there are none."""
        weights: dict[int, int] = {}
        for linear in self.linears:
            weights[linear.bits] = weights.get(linear.bits, 0) + linear.parameters
        return max(weights, key=lambda bits: weights[bits], default=16)

    @property
    def quantized_share(self) -> float:
        """Share of the linear weights stored in less than 16 bits."""
        total = sum(linear.parameters for linear in self.linears)
        narrow = sum(linear.parameters for linear in self.linears if linear.bits < 16)
        return narrow / total if total else 0.0

    @property
    def other_bytes(self) -> int:
        """Bytes of everything else: norms, routers' biases."""
        known = self.linear_bytes + self.embedding_bytes + self.lm_head_bytes + self.encoder_bytes
        return self.total_bytes - known


def is_encoder(module: str) -> bool:
    """Say whether a module belongs to a tower that only sees images or sound."""
    return any(part in _ENCODERS for part in module.split("."))


def is_embedding(module: str) -> bool:
    """Say whether a module is the table of the tokens' input vectors."""
    return module.rpartition(".")[2] in _EMBEDDINGS


def is_head(module: str) -> bool:
    """Say whether a module is the projection onto the vocabulary."""
    return module in _HEADS or module.endswith(".lm_head")


def is_expert(module: str) -> bool:
    """Say whether a module belongs to a routed expert; shared ones run for every token."""
    return "experts" in module.split(".")
