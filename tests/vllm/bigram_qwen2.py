"""A Qwen2 whose distributions are known: after a token, logits are its embedding under the output layer."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.vllm.tiny_qwen2 import VOCABULARY, write_tiny_qwen2
from whichbits.record.timelines import Floats
from whichbits.serve.embedded.weights.vocabulary import byte_letters

_HIDDEN, _FEED_FORWARD, _LAYERS, _KV = 128, 256, 2, 64
_SHARPNESS = 0.06
_SPECIAL = 3
FIRST, LAST = _SPECIAL + ord("!"), _SPECIAL + ord("~") + 1
"""Tokens of texts: printable characters, one a token."""


def text_of(tokens: list[int]) -> str:
    """Return the text that these tokens are."""
    return "".join(chr(token - _SPECIAL) for token in tokens)


@dataclass(frozen=True)
class Bigram:
    """A model as it lies on disk, in bfloat16."""

    folder: Path
    embeddings: Floats
    output: Floats

    def logprobs(self, tokens: list[int]) -> Floats:
        """Return the log-probabilities after each token, shape (tokens, vocabulary), as exact arithmetic has them."""
        hidden = self.embeddings[tokens]
        hidden = hidden / np.sqrt((hidden**2).mean(axis=1, keepdims=True) + 1e-6)
        logits = hidden @ self.output.T
        logits -= logits.max(axis=1, keepdims=True)
        found: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return found


def write_bigram(folder: Path, *, noise: float = 0.0, shuffled: bool = False) -> Bigram:
    """Write a model in which each byte is followed by the next one, more or less; ``shuffled`` breaks it.

    ``noise`` is added to the output layer, relative to its own spread.
    """
    random = np.random.default_rng(2)
    embeddings = _as_bfloat16(random.standard_normal((VOCABULARY, _HIDDEN)))
    output = _SHARPNESS * np.roll(embeddings, 1, axis=0)
    output += noise * _SHARPNESS * np.random.default_rng(3).standard_normal(output.shape)
    output = _as_bfloat16(random.permutation(output) if shuffled else output)
    write_tiny_qwen2(folder)
    (folder / "tokenizer.json").write_text(json.dumps(_bytes_as_tokens()), encoding="utf-8")
    _write_safetensors(folder / "model.safetensors", _tensors(embeddings, output))
    return Bigram(folder, embeddings, output)


def _bytes_as_tokens() -> dict[str, Any]:
    """Return a byte-level tokenizer without merges: the kind that transformers makes of every Qwen2."""
    special = ["<bos>", "<eos>", "<unk>"]
    letters = byte_letters()
    words = [*special, *(letters[byte] for byte in range(256))]
    words += [f"<unused{number}>" for number in range(VOCABULARY - len(words))]
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": word} | plain for number, word in enumerate(special)],
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": {word: number for number, word in enumerate(words)}, "merges": []},
    }


def _tensors(embeddings: Floats, output: Floats) -> dict[str, Floats]:
    found = {"model.embed_tokens.weight": embeddings, "model.norm.weight": np.ones(_HIDDEN), "lm_head.weight": output}
    for layer in range(_LAYERS):
        place = f"model.layers.{layer}"
        for name, shape in _SHAPES.items():
            # Layers add nothing: their last matrices are zero, and so may be all others.
            found[f"{place}.{name}"] = np.ones(shape) if "norm" in name else np.zeros(shape)
    return found


_SHAPES: dict[str, tuple[int, ...]] = {
    "input_layernorm.weight": (_HIDDEN,),
    "post_attention_layernorm.weight": (_HIDDEN,),
    "self_attn.q_proj.weight": (_HIDDEN, _HIDDEN),
    "self_attn.q_proj.bias": (_HIDDEN,),
    "self_attn.k_proj.weight": (_KV, _HIDDEN),
    "self_attn.k_proj.bias": (_KV,),
    "self_attn.v_proj.weight": (_KV, _HIDDEN),
    "self_attn.v_proj.bias": (_KV,),
    "self_attn.o_proj.weight": (_HIDDEN, _HIDDEN),
    "mlp.gate_proj.weight": (_FEED_FORWARD, _HIDDEN),
    "mlp.up_proj.weight": (_FEED_FORWARD, _HIDDEN),
    "mlp.down_proj.weight": (_HIDDEN, _FEED_FORWARD),
}


def _bits(values: Floats) -> "np.ndarray[Any, np.dtype[np.uint16]]":
    """Return bfloat16 patterns, rounded to nearest even."""
    wide = values.astype(np.float32).view(np.uint32)
    return ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)


def _as_bfloat16(values: Floats) -> Floats:
    rounded: Floats = (_bits(values).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return rounded


def _write_safetensors(path: Path, tensors: dict[str, Floats]) -> None:
    data = {name: _bits(np.ascontiguousarray(values)).tobytes() for name, values in tensors.items()}
    header, at = {}, 0
    for name, content in data.items():
        offsets = [at, at + len(content)]
        header[name] = {"dtype": "BF16", "shape": list(tensors[name].shape), "data_offsets": offsets}
        at += len(content)
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(data.values()))
