"""Token ids as text: the bytes behind every id, joined without breaking characters."""

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from whichbits.errors import BadInput
from whichbits.serve.embedded.weights.gguf_header import GgufHeader

_CONTROL, _USER_DEFINED = 3, 4


@dataclass(frozen=True)
class Vocabulary:
    """``pieces[i]`` are the bytes of id i; ``control`` ids mark structure and carry no text of an answer."""

    pieces: tuple[bytes, ...]
    control: frozenset[int]
    end: int | None

    def __len__(self) -> int:
        return len(self.pieces)

    def text(self, ids: Iterable[int]) -> str:
        """Return the text of ids with control tokens spelled out; broken characters become U+FFFD."""
        return b"".join(self.pieces[token] for token in ids).decode("utf-8", "replace")


class Detokenizer:
    """Text of one growing answer; bytes of an unfinished character wait for the next token."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, ids: Iterable[int], *, last: bool = False) -> str:
        """Return the text that is certain now; ``last`` gives up on an unfinished character."""
        shown = (token for token in ids if token not in self._vocabulary.control)
        return self._decoder.decode(b"".join(self._vocabulary.pieces[token] for token in shown), last)


def read_vocabulary(header: GgufHeader) -> Vocabulary:
    """Build the byte table of a GGUF file's tokenizer.

    Raises:
        BadInput: if it is not a byte-level BPE vocabulary ("gpt2"), the only kind that the engine loads.
    """
    kind = header.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise BadInput(
            "embedded_tokenizer",
            f"the model's tokenizer is {kind!r}",
            why="OpenVINO GenAI builds tokenizers of GGUF files for byte-level BPE ('gpt2') only.",
            fix="Use a model with such a tokenizer: Llama 3, Qwen 2 or 3, SmolLM.",
        )
    tokens: list[str] = header.get("tokenizer.ggml.tokens")
    kinds: list[int] = header.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    return Vocabulary(
        pieces=tuple(
            token.encode() if kind == _USER_DEFINED else _bytes_of(token)
            for token, kind in zip(tokens, kinds, strict=True)
        ),
        control=frozenset(index for index, kind in enumerate(kinds) if kind == _CONTROL),
        end=header.get("tokenizer.ggml.eos_token_id"),
    )


def byte_letters() -> dict[int, str]:
    """Return the printable letter that byte-level BPE writes for each byte (Radford et al. 2019, GPT-2).

    Printable Latin-1 bytes stand for themselves; the others, in order, for the letters from U+0100 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(256) if byte not in printable)
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + at) for at, byte in enumerate(others)}


@cache
def _letter_bytes() -> dict[str, int]:
    return {letter: byte for byte, letter in byte_letters().items()}


def _bytes_of(token: str) -> bytes:
    table = _letter_bytes()
    if all(letter in table for letter in token):
        return bytes(table[letter] for letter in token)
    return token.encode()
