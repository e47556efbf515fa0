"""A byte-level BPE tokenizer from a GGUF file's keys, as tokenizer.json and tokenizer_config.json."""

from collections.abc import Mapping
from typing import Any

from whichbits.errors import BadInput
from whichbits.serve.embedded.weights.gguf_header import GgufHeader

_SPECIAL, _USER_DEFINED = 3, 4
_SHORTENED, _WORD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_SHORTENED}|{_WORD}|\p{{N}}{{1,3}}|{_REST}"
_QWEN2 = rf"{_SHORTENED}|{_WORD}|\p{{N}}|{_REST}"
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_PLAIN = _BYTES | {"use_regex": True}


def _split(pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, _BYTES]}


_DIGITS = {"type": "Digits", "individual_digits": True}
_PRE_TOKENIZERS: Mapping[str, dict[str, Any]] = {
    "smollm": {"type": "Sequence", "pretokenizers": [_DIGITS, _PLAIN]},
    "gpt-2": _PLAIN,
    "llama-bpe": _split(_LLAMA3),
    "qwen2": _split(_QWEN2),
}
"""How text is cut before merges, by the name in ``tokenizer.ggml.pre``."""


def tokenizer_files(header: GgufHeader) -> dict[str, dict[str, Any]]:
    """Return file names and contents.

    Raises:
        BadInput: ``gguf_tokenizer`` if it is of another kind, or cuts text in a way that is not known here.
    """
    kind, cut = header.get("tokenizer.ggml.model"), header.get("tokenizer.ggml.pre")
    complete = all(header.get(f"tokenizer.ggml.{key}") for key in ("tokens", "merges"))
    if kind != "gpt2" or cut not in _PRE_TOKENIZERS or not complete:
        raise BadInput(
            "gguf_tokenizer",
            f"the file's tokenizer is {kind!r}, and cuts text as {cut!r}",
            why=f"only byte-level BPE can be written, and of that {', '.join(_PRE_TOKENIZERS)}",
            fix="fetch the safetensors checkpoint that the file was made of; it has its tokenizer beside it",
        )
    return {"tokenizer.json": _tokenizer(header, cut), "tokenizer_config.json": _settings(header)}


def _tokenizer(header: GgufHeader, cut: str) -> dict[str, Any]:
    tokens: list[str] = header.get("tokenizer.ggml.tokens")
    kinds: list[int] = header.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    added = [
        {"id": number, "content": tokens[number], "special": kind == _SPECIAL, "normalized": False}
        | {"single_word": False, "lstrip": False, "rstrip": False}
        for number, kind in enumerate(kinds)
        if kind in (_SPECIAL, _USER_DEFINED)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": _PRE_TOKENIZERS[cut],
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": header.get("tokenizer.ggml.merges"),
        },
    }


def _settings(header: GgufHeader) -> dict[str, Any]:
    tokens: list[str] = header.get("tokenizer.ggml.tokens")
    words = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}
    numbers = {name: header.get(f"tokenizer.ggml.{word}_token_id") for name, word in words.items()}
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": header.of_architecture("context_length"),
        "add_bos_token": bool(header.get("tokenizer.ggml.add_bos_token")),
        "clean_up_tokenization_spaces": False,
    }
    settings |= {name: tokens[number] for name, number in numbers.items() if number is not None}
    template = header.get("tokenizer.chat_template")
    return settings if template is None else settings | {"chat_template": template}
