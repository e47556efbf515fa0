"""Conversations of chat data sets (ShareGPT and its kin): which prompt and answer a record offers."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

TURN_LISTS = ("conversations", "conversation", "messages")

_ROLES = ("from", "role")
_TEXTS = ("value", "content")
ASKING = frozenset({"human", "user", "prompter"})
ANSWERING = frozenset({"gpt", "assistant", "chatgpt", "bard", "bing", "claude", "model", "bot"})

Unusable = Literal[
    "not_an_object",
    "no_conversation",
    "empty_conversation",
    "no_question",
    "no_answer",
    "empty_prompt",
    "empty_answer",
]


class Exchanged(NamedTuple):
    """A question and its answer; ``first`` is whether they are the first two turns, as vLLM's reader takes them."""

    prompt: str
    answer: str
    first: bool


def first_exchange(record: Any) -> Exchanged | Unusable:
    """Return the first question of a person and the answer right after it, or why the record has none.

    Roles decide, not positions: a record may open with a system text or with the end of an earlier answer.
    """
    if not isinstance(record, Mapping):
        return "not_an_object"
    turns = turns_of(record)
    if turns is None:
        return "no_conversation"
    return _first_exchange(turns) if turns else "empty_conversation"


def all_exchanges(record: Any) -> list[Exchanged] | Unusable:
    """Return every question of a person with the answer right after it, up to the first that has none.

    It begins with ``first_exchange``, and is unusable for the same reasons.
    """
    first = first_exchange(record)
    if not isinstance(first, Exchanged):
        return first
    turns = turns_of(record) or []
    asked = next(at for at, turn in enumerate(turns) if role_of(turn) in ASKING)
    exchanges = [first]
    for at in range(asked + 2, len(turns) - 1, 2):
        prompt, answer = text_of(turns[at]), text_of(turns[at + 1])
        if role_of(turns[at]) not in ASKING or role_of(turns[at + 1]) not in ANSWERING or not prompt or not answer:
            break
        exchanges.append(Exchanged(prompt, answer, first=False))
    return exchanges


def turns_of(record: Mapping[str, Any]) -> list[Any] | None:
    """Return a record's list of turns under any of its usual names, or None."""
    return next((record[key] for key in TURN_LISTS if isinstance(record.get(key), list)), None)


def _first_exchange(turns: list[Any]) -> Exchanged | Unusable:
    roles = [role_of(turn) for turn in turns]
    asked = next((at for at, role in enumerate(roles) if role in ASKING), None)
    if asked is None:
        return "no_question"
    prompt = text_of(turns[asked])
    if not prompt:
        return "empty_prompt"
    if asked + 1 == len(turns) or roles[asked + 1] not in ANSWERING:
        return "no_answer"
    answer = text_of(turns[asked + 1])
    return Exchanged(prompt, answer, asked == 0) if answer else "empty_answer"


def role_of(turn: Any) -> str | None:
    role = _first_of(turn, _ROLES)
    return role.strip().lower() if isinstance(role, str) else None


def text_of(turn: Any) -> str:
    """Return a turn's text without the white space around it; of content in parts, the texts among them."""
    content = _first_of(turn, _TEXTS)
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content.strip() if isinstance(content, str) else ""


def _first_of(turn: Any, keys: tuple[str, ...]) -> Any:
    return next((turn[key] for key in keys if key in turn), None) if isinstance(turn, Mapping) else None
