"""Text to token ids and back for one model: OpenVINO's tokenizer, the byte table, and the checks on ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import openvino_genai

from whichbits.serve.embedded.openai_api import BadRequest
from whichbits.serve.embedded.weights.gguf_header import read_gguf_header
from whichbits.serve.embedded.weights.vocabulary import Vocabulary, read_vocabulary


class Message(Protocol):
    """One turn of a conversation."""

    @property
    def role(self) -> str: ...

    @property
    def content(self) -> str: ...


@dataclass(frozen=True)
class Tokens:
    """``longest`` is the most tokens that prompt and answer may have together."""

    vocabulary: Vocabulary
    longest: int
    tokenizer: Any

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return a text's ids; ``special`` adds what the model wants before a text."""
        return [int(token) for token in self.tokenizer.encode(text, add_special_tokens=special).input_ids.data[0]]

    def encode_chat(self, messages: Sequence[Message], *, generation_prompt: bool) -> list[int]:
        """Return a conversation's ids through the model's own template.

        Raises:
            BadRequest: if the model has no template.
        """
        if not self.tokenizer.chat_template:
            raise BadRequest("the model has no chat template; use /v1/completions", "messages")
        turns = [{"role": message.role, "content": message.content} for message in messages]
        text = self.tokenizer.apply_chat_template(turns, add_generation_prompt=generation_prompt)
        return self.encode(text, special=False)

    def check(self, ids: Sequence[int]) -> None:
        """Refuse ids that the model does not have.

        Raises:
            BadRequest: naming the first one.
        """
        wrong = next((token for token in ids if not 0 <= token < len(self.vocabulary)), None)
        if wrong is not None:
            raise BadRequest(f"token id {wrong} is outside the vocabulary of {len(self.vocabulary)}", "prompt")


def load_tokens(gguf: Path, tokenizer_folder: Path) -> Tokens:
    """Read the byte table from the GGUF header and the tokenizer from its OpenVINO form."""
    header = read_gguf_header(gguf)
    tokenizer = openvino_genai.Tokenizer(tokenizer_folder, INFERENCE_NUM_THREADS="1")
    return Tokens(read_vocabulary(header), int(header.of_architecture("context_length")), tokenizer)
