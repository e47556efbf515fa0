"""One request as planned: its prompt in ids or words, its answer's length, and when it is due."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

CHARACTERS_PER_TOKEN = 4
"""The usual rule for English text where no tokenizer counts."""


class Message(NamedTuple):
    """One turn of a conversation in words."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request to come. ``offset_ns`` is its scheduled send after the cell's start; None in a closed loop.

    ``prompt`` holds token ids, or nothing where ``messages`` say it in words; ``message_tokens`` is then how many
    tokens these are, counted or estimated. A later turn of a session has no offset of its own: it is due ``think_ns``
    after the request of index ``follows`` has ended.
    """

    index: int
    prompt: tuple[int, ...]
    output_tokens: int
    offset_ns: int | None
    prefix: int | None = None
    messages: tuple[Message, ...] = ()
    follows: int | None = None
    think_ns: int = 0
    message_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """Return the prompt's length in tokens: of words, as counted or estimated."""
        return len(self.prompt) or self.message_tokens

    def head(self, tokens: int) -> tuple[int, ...]:
        """Return what tells the prompt's beginning from others: ids, or the characters of about as many tokens."""
        if self.prompt or not self.messages:
            return self.prompt[:tokens]
        text = "\n".join(message.content for message in self.messages[: tokens + 1])
        return tuple(map(ord, text[: tokens * CHARACTERS_PER_TOKEN]))


def last_due_s(planned: Sequence[PlannedRequest]) -> float:
    """Return when the last request is due if answers took no time: seconds from the cell's start.

    Of a closed loop only the think times are known; a cell cannot be shorter than its longest session's.
    """
    due: dict[int, int] = {}
    for request in planned:
        before = 0 if request.follows is None else due[request.follows]
        due[request.index] = before + request.think_ns + (request.offset_ns or 0)
    return max(due.values(), default=0) / 1e9
