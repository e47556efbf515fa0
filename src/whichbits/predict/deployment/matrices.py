"""What a step multiplies with: the matrices of a checkpoint by shape, as engines fuse and share them."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from whichbits.checkpoint.facts import Checkpoint
from whichbits.traffic.draws import Floats


@dataclass(frozen=True)
class Matrix:
    """Products of one shape in one step: ``count`` of them, each with bytes to read and weights to multiply.

    Of the experts of a layer, which are one matrix here, a token meets the share ``met``; of other matrices all.
    """

    count: float
    stored_bytes: float
    parameters: float
    inputs: int
    quantised: bool
    met: float = 1.0

    def read_share(self, tokens: Floats) -> Floats:
        """Return the share of the bytes that a step of ``tokens`` reads: of experts those that any token met.

        Tokens are taken to choose independently and evenly: 1 - (1 - met)^tokens.
        """
        share: Floats = 1.0 - (1.0 - self.met) ** tokens if self.met < 1 else np.ones_like(tokens)
        return share


def matrices_of(checkpoint: Checkpoint, gpus: int) -> list[Matrix]:
    """Return a step's products by shape: queries, keys and values as one, gate and up as one, as engines fuse them."""
    merged: dict[str, Matrix] = {}
    for linear in checkpoint.linears:
        name = _fused(linear.module)
        met = expert_share(checkpoint) if linear.expert else 1.0
        known = merged.get(name, Matrix(1, 0, 0, linear.inputs, linear.bits < 16, met))
        merged[name] = replace(
            known,
            stored_bytes=known.stored_bytes + linear.stored_bytes / gpus,
            parameters=known.parameters + linear.parameters / gpus,
        )
    return [replace(matrix, count=count) for matrix, count in Counter(merged.values()).items()]


def _fused(module: str) -> str:
    """Return the name of the product that a layer is part of; experts of a layer go through one kernel each way."""
    parent, _, own = module.rpartition(".")
    parent = parent.partition(".experts.")[0]
    fused = {"q_proj": "qkv", "k_proj": "qkv", "v_proj": "qkv", "gate_proj": "gate_up", "up_proj": "gate_up"}
    return f"{parent}.{fused.get(own, own)}"


def expert_share(checkpoint: Checkpoint) -> float:
    """Return the share of its experts that a token meets."""
    return (checkpoint.experts_per_token or 1) / (checkpoint.experts or 1)
