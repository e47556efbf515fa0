"""Text to token ids and back, by the model's own tokenizer; in the HTTP process, beside the engine."""

from pathlib import Path

import openvino_genai

from whichbits.serve.embedded.weights.gguf_header import read_gguf_header
from whichbits.serve.embedded.weights.openvino_ir import openvino_folder
from whichbits.serve.embedded.weights.vocabulary import Vocabulary, read_vocabulary


class TextModel:
    """The tokenizer of a GGUF file."""

    def __init__(self, gguf: Path) -> None:
        """Read the vocabulary now; the tokenizer itself loads when a text first asks for it."""
        header = read_gguf_header(gguf)
        self._gguf = gguf
        self._tokenizer: openvino_genai.Tokenizer | None = None
        self.vocabulary: Vocabulary = read_vocabulary(header)
        self.max_model_len: int = header.of_architecture("context_length")

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``, without special tokens added."""
        encoded = self._loaded().encode(text, add_special_tokens=False)
        return [int(token) for token in encoded.input_ids.data[0]]

    def encode_chat(self, turns: list[dict[str, str]]) -> list[int]:
        """Return the ids of a conversation in the model's own template, ready for the answer."""
        return self.encode(self._loaded().apply_chat_template(turns, add_generation_prompt=True))

    def _loaded(self) -> openvino_genai.Tokenizer:
        if self._tokenizer is None:
            self._tokenizer = openvino_genai.Tokenizer(openvino_folder(self._gguf))
        return self._tokenizer
