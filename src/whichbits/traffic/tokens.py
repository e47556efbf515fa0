"""How many tokens a text has: by a tokenizer, or by the rule of four characters a token."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from whichbits.errors import BadInput
from whichbits.traffic.request import CHARACTERS_PER_TOKEN, Message

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Tokens(Protocol):
    """Counts tokens; ``told`` says how, for the record."""

    @property
    def told(self) -> str:
        """How tokens are counted."""
        ...

    def __call__(self, text: str) -> int:
        """Return the number of tokens of ``text``, at least 1."""
        ...


class Estimated:
    """Four characters a token, rounded up: the usual rule for English; other languages have more tokens."""

    told = f"estimated: {CHARACTERS_PER_TOKEN} characters a token"

    def __call__(self, text: str) -> int:
        return max(1, -(-len(text) // CHARACTERS_PER_TOKEN))


class Counted:
    """A tokenizer's own count, without the special tokens that a server may add."""

    def __init__(self, path: str) -> None:
        self.told = f"counted by {path}"
        self._tokenizer = _tokenizer(path)

    def __call__(self, text: str) -> int:
        return max(1, len(self._tokenizer.encode(text, add_special_tokens=False).ids))


def tokens_by(tokenizer: str | None) -> Tokens:
    """Return what counts tokens.

    Raises:
        BadInput: ``tokenizer_missing`` or ``tokenizer_unusable``.
    """
    return Estimated() if tokenizer is None else Counted(tokenizer)


def message_tokens(tokens: Tokens, messages: Sequence[Message]) -> int:
    """Return the tokens of all contents; what a chat template puts around them is not counted."""
    return sum(tokens(message.content) for message in messages)


@lru_cache(maxsize=2)
def _tokenizer(path: str) -> "Tokenizer":
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise BadInput(
            "tokenizer_missing",
            "the study names a tokenizer, but the library that reads it is not installed",
            why="it is an extra, since most studies need none",
            fix="pip install 'whichbits[tokenizers]', or leave `tokenizer` out: four characters are then one token",
        ) from None
    file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # noqa: BLE001 - the library raises plain Exception
        raise BadInput(
            "tokenizer_unusable",
            f"{file} cannot be read as a tokenizer: {error}",
            why="the path is wrong, or the file is of another kind (a tokenizer.model, a config)",
            fix="name a tokenizer.json, or the model's folder that holds one",
        ) from None
