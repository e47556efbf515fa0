"""A llama of a few thousand random weights with a byte-level vocabulary: loads in a second, answers nonsense."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quants

from whichbits.serve.embedded.weights.vocabulary import byte_letters

HIDDEN, FEED_FORWARD, LAYERS, HEADS, KV_HEADS = 64, 128, 2, 2, 1
CONTEXT = 4096
SPECIAL = ("<|end|>", "<|start|>")
END = 0
MERGES = ("t h", "th e", "a n")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant: {% endif %}"
)


def tokens() -> list[str]:
    """Special tokens, one token a byte, one a merge: ids in this order."""
    return [*SPECIAL, *byte_letters().values(), *(merge.replace(" ", "") for merge in MERGES)]


def byte_id(byte: int) -> int:
    """Return the id of the token that is this one byte."""
    return tokens().index(byte_letters()[byte])


def write_tiny_model(path: Path, own: Mapping[str, npt.NDArray[np.float64]] | None = None) -> Path:
    """Write the model in 16 bits; the same weights at every call, but for those that are one's ``own``, by name."""
    writer = GGUFWriter(path, "llama")
    _add_shape(writer)
    _add_tokenizer(writer)
    random = np.random.default_rng(0)
    drawn = {
        name: np.ones(shape) if len(shape) == 1 else random.standard_normal(shape) * 0.15
        for name, shape in _tensor_shapes().items()
    }
    for name, values in (drawn | dict(own or {})).items():
        stored = GGMLQuantizationType.F32 if values.ndim == 1 else GGMLQuantizationType.F16
        writer.add_tensor(name, quants.quantize(values.astype(np.float32), stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_shape(writer: GGUFWriter) -> None:
    writer.add_file_type(1)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)


def _add_tokenizer(writer: GGUFWriter) -> None:
    kinds = [TokenType.CONTROL if token in SPECIAL else TokenType.NORMAL for token in tokens()]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens())
    writer.add_token_types(kinds)
    writer.add_token_merges(MERGES)
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_pad_token_id, writer.add_unk_token_id):
        add(END)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def _tensor_shapes() -> dict[str, tuple[int, ...]]:
    head = HIDDEN // HEADS
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(tokens()), HIDDEN), "output_norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        block = {
            "attn_norm": (HIDDEN,),
            "attn_q": (HEADS * head, HIDDEN),
            "attn_k": (KV_HEADS * head, HIDDEN),
            "attn_v": (KV_HEADS * head, HIDDEN),
            "attn_output": (HIDDEN, HEADS * head),
            "ffn_norm": (HIDDEN,),
            "ffn_gate": (FEED_FORWARD, HIDDEN),
            "ffn_up": (FEED_FORWARD, HIDDEN),
            "ffn_down": (HIDDEN, FEED_FORWARD),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes
