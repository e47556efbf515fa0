"""The ways of asking a server how likely a text is: each engine has its own, and one is found by asking."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from whichbits.quality.asked import Token
from whichbits.quality.client import Client, Refused

Prompt = str | Sequence[int]
_TOLD = 2
_LEAST = {"max_tokens": 1, "temperature": 0}


class Way(Protocol):
    """One way: what to send, and how to read the answer's choice."""

    def body(self, prompt: Prompt, top: int) -> dict[str, Any]:
        """Return the request's body, but for the model."""
        ...

    def read(self, choice: Mapping[str, Any], prompt: Prompt) -> tuple[Token, ...] | None:
        """Return the prompt's tokens; None if the answer does not hold them."""
        ...


class PromptLogprobs:
    """vLLM's ``prompt_logprobs``: for each position the likeliest tokens by id, and the prompt's own."""

    def body(self, prompt: Prompt, top: int) -> dict[str, Any]:
        """Ask for the ``top`` likeliest tokens at each position."""
        return {"prompt": prompt, "prompt_logprobs": top, **_LEAST}

    def read(self, choice: Mapping[str, Any], prompt: Prompt) -> tuple[Token, ...] | None:
        """Return the tokens; ids must have been sent, since the answer does not say which candidate is the prompt's."""
        positions = choice.get("prompt_logprobs")
        if not isinstance(positions, list) or isinstance(prompt, str) or len(positions) != len(prompt):
            return None
        return tuple(_candidate(str(key), found) for key, found in zip(prompt, positions, strict=True))


def _candidate(key: str, found: Mapping[str, Any] | None) -> Token:
    """Read one position: ``{"17": {"logprob": -0.4, "rank": 1, "decoded_token": " the"}, …}``, null for the first."""
    if not found or key not in found:
        return Token(key, "", None)
    top = {each: float(entry["logprob"]) for each, entry in found.items()}
    return Token(key, str(found[key].get("decoded_token") or ""), top[key], top)


class Echo:
    """The OpenAI completions API's ``echo`` with ``logprobs``; ``ask_top`` False asks for the tokens' own only."""

    def __init__(self, *, ask_top: bool) -> None:
        """Some servers refuse more than ``logprobs: 1``."""
        self._ask_top = ask_top

    def body(self, prompt: Prompt, top: int) -> dict[str, Any]:
        """Ask for the prompt's tokens with what is known of each."""
        return {"prompt": prompt, "echo": True, "logprobs": max(1, top) if self._ask_top else 1, **_LEAST}

    def read(self, choice: Mapping[str, Any], prompt: Prompt) -> tuple[Token, ...] | None:
        """Return the tokens without the generated one, which is the last."""
        found = choice.get("logprobs")
        if not isinstance(found, dict) or not isinstance(found.get("token_logprobs"), list):
            return None
        texts, own = list(found.get("tokens") or ()), found["token_logprobs"]
        count = len(own) - 1 if isinstance(prompt, str) else len(prompt)
        if count < 1 or len(own) < count or len(texts) != len(own):
            return None
        tops = _complete_tops(found.get("top_logprobs"), len(own))
        keys = texts if isinstance(prompt, str) or any(tops) else [str(token) for token in prompt]
        return tuple(_echoed(keys[at], texts[at], own[at], tops[at]) for at in range(count))


def _complete_tops(tops: Any, count: int) -> list[Mapping[str, float] | None]:
    """Return the likeliest tokens by position, or none at all where a server tells only one of each.

    One alone would be told apart from the prompt's token only where they differ, and agreement be judged by those.
    """
    told = list(tops) if isinstance(tops, list) and len(tops) == count else [None] * count
    return told if all(top is None or len(top) >= _TOLD for top in told) else [None] * count


def _echoed(key: str, text: str, logprob: float | None, top: Mapping[str, float] | None) -> Token:
    known = {} if top is None or logprob is None else {**top, key: logprob}
    return Token(key, text, None if logprob is None else float(logprob), known)


WAYS: Mapping[str, Way] = {
    "prompt_logprobs": PromptLogprobs(),
    "echo": Echo(ask_top=True),
    "echo, own log-probability only": Echo(ask_top=False),
}
"""In the order in which they are tried."""


async def find_way(client: Client, probe: Prompt, top: int) -> str:
    """Return the first way that the server understands.

    Raises:
        Refused: none; the text holds what it said to each.
    """
    said = []
    for name, way in WAYS.items():
        try:
            choice = await client.complete(way.body(probe, top))
        except Refused as refusal:
            if refusal.status is None:
                raise
            said.append(f"{name}: {refusal}")
            continue
        if way.read(choice, probe) is not None:
            return name
        said.append(f"{name}: ignored")
    raise Refused(200, "; ".join(said))
