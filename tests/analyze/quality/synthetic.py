"""Servers with known distributions: what they would say of a text, so that every distance is known beforehand."""

import numpy as np

from whichbits.quality.asked import Asked, ScoredText, Token
from whichbits.record.timelines import Floats


def log_softmax(logits: Floats) -> Floats:
    """Return log-probabilities, shape (..., vocabulary)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def top_of(logprobs: Floats, token: int, k: int) -> dict[str, float]:
    """Return what vLLM tells of a position: the ``k`` likeliest tokens, and the prompt's own."""
    chosen = [*np.argsort(-logprobs)[:k].tolist(), token]
    return {str(each): float(logprobs[each]) for each in chosen}


def scored(name: str, tokens: list[int], logprobs: Floats, k: int | None, asking: int = 0) -> ScoredText:
    """Return a text as scored; ``logprobs`` has shape (tokens, vocabulary), ``k`` None tells the own ones only."""
    first = Token(str(tokens[0]), f" t{tokens[0]}", None)
    rest = [
        Token(str(token), f" t{token}", float(row[token]), {} if k is None else top_of(row, token, k))
        for token, row in zip(tokens[1:], logprobs[1:], strict=True)
    ]
    return ScoredText(name, name.partition("/")[0], asking, (first, *rest))


def said(arm: str, *texts: ScoredText) -> Asked:
    return Asked(arm, "prompt_logprobs", texts)
