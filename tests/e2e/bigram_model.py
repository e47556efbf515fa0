"""A tiny llama that knows one thing: each token is followed by the next one of the vocabulary. It can be broken."""

from pathlib import Path

import numpy as np

from tests.serve.embedded.tiny_model import FEED_FORWARD, HEADS, HIDDEN, LAYERS, tokens, write_tiny_model

_SHARPNESS = 0.2
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def write_bigram_model(path: Path, *, broken: bool = False) -> Path:
    """Write it: layers add nothing to a token's embedding, and the output layer finds the successor's.

    A broken one has the rows of its output layer shuffled, as a checkpoint whose scales are in another order.
    """
    random = np.random.default_rng(1)
    embeddings = random.standard_normal((len(tokens()), HIDDEN))
    embeddings /= np.sqrt((embeddings**2).mean(axis=1, keepdims=True))
    output = _SHARPNESS * np.roll(embeddings, 1, axis=0)
    layers = {
        f"blk.{layer}.{name}.weight": np.zeros(shape)
        for layer in range(LAYERS)
        for name, shape in {
            "attn_output": (HIDDEN, HIDDEN // HEADS * HEADS),
            "ffn_down": (HIDDEN, FEED_FORWARD),
        }.items()
    }
    weights = {"token_embd.weight": embeddings, "output.weight": random.permutation(output) if broken else output}
    return write_tiny_model(path, layers | weights)
