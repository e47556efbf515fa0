"""A Qwen2 of a megabyte with made-up words, so that a real vLLM has something to serve; weights are random."""

import json
from pathlib import Path
from typing import Any

VOCABULARY = 1024
TOKEN_IDS = (10, 1000)
"""Where prompts may draw from: special tokens stand before."""
_CONFIG: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 0,
    "eos_token_id": 1,
}
_SPECIAL = ("<bos>", "<eos>", "<unk>")


def write_tiny_qwen2(folder: Path, **changes: Any) -> Path:
    """Write config and tokenizer, for ``load_format: dummy``; ``changes`` go into config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", _CONFIG | changes)
    _write_json(folder / "tokenizer.json", _tokenizer())
    _write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"},
    )
    return folder


def _tokenizer() -> dict[str, Any]:
    words = [*_SPECIAL, *(f"w{number}" for number in range(len(_SPECIAL), VOCABULARY))]
    special = [
        {"id": number, "content": word, "special": True, "normalized": False}
        | {"single_word": False, "lstrip": False, "rstrip": False}
        for number, word in enumerate(_SPECIAL)
    ]
    return {
        "version": "1.0",
        "added_tokens": special,
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": "<unk>",
        },
    }


def _write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content), encoding="utf-8")
