"""What a served arm says when asked, as types: log-probabilities of a text's tokens, and free answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Token:
    """A token of a text as a server scored it, given all that stands before it.

    ``key`` names the token the same way for all arms of an engine: its id, or its text where no ids are known.
    ``logprob`` is None where the server gave none. ``top`` holds the likeliest tokens by key, empty if not told.
    """

    key: str
    text: str
    logprob: float | None
    top: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoredText:
    """One text, token by token; ``asking`` is 1 for the second time that the same server was asked."""

    name: str
    domain: str
    asking: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class FreeAnswer:
    """A greedy answer that ended as it liked; ``tokens`` as keys."""

    name: str
    asking: int
    tokens: tuple[str, ...]
    text: str
    finish_reason: str | None


@dataclass(frozen=True)
class Asked:
    """All that one arm said, and in words what it did not."""

    arm: str
    way: str | None
    """How log-probabilities were asked for; None if the server gives none."""
    texts: tuple[ScoredText, ...] = ()
    answers: tuple[FreeAnswer, ...] = ()
    notes: tuple[str, ...] = ()
