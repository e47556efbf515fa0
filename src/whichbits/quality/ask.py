"""Asking one arm: its texts scored token by token, its questions answered greedily."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whichbits.quality.asked import Asked, FreeAnswer, ScoredText
from whichbits.quality.client import Client, Refused
from whichbits.quality.readable import readable
from whichbits.quality.texts import Text
from whichbits.quality.ways import WAYS, Prompt, find_way
from whichbits.study.quality import Quality

Forget = Callable[[], Awaitable[None]]
"""Empties the server's prefix cache, as far as it can be: what is cached is not computed, and not scored."""


@dataclass(frozen=True)
class Matter:
    """What every arm is asked alike; the reference is asked ``askings`` = 2 times, which shows its noise."""

    asked: Quality
    texts: Sequence[Text]
    questions: Sequence[Text]
    askings: int = 1


async def ask_arm(client: Client, arm: str, matter: Matter, forget: Forget) -> Asked:
    """Ask everything; what the server refuses is noted, and left out.

    Raises:
        Refused: the server answers no more.
    """
    prompts = await _prompts(client, matter)
    notes: list[str] = []
    way = None
    texts: list[ScoredText] = []
    if matter.texts:
        try:
            way = await find_way(client, next(iter(prompts.values())), matter.asked.top)
        except Refused as refusal:
            if refusal.status is None:
                raise
            notes.append(f"no log-probabilities of prompts: {refusal}")
    questions = await _questions(client, matter) if matter.asked.answer_tokens else {}
    answers: list[FreeAnswer] = []
    for asking in range(matter.askings):
        if way is not None:
            await forget()
            scored = await asyncio.gather(
                *(_scored(client, way, text, prompts[text.name], asking, matter) for text in matter.texts)
            )
            texts += [each for each in scored if isinstance(each, ScoredText)]
            notes += [each for each in scored if isinstance(each, str)]
        given = await asyncio.gather(
            *(_answered(client, name, prompt, asking, matter) for name, prompt in questions.items())
        )
        answers += [each for each in given if isinstance(each, FreeAnswer)]
        notes += [each for each in given if isinstance(each, str)]
    return Asked(arm, way, tuple(texts), tuple(answers), tuple(dict.fromkeys(notes)))


async def _prompts(client: Client, matter: Matter) -> dict[str, Prompt]:
    """Return each text as token ids, cut to the study's length; as it is where the server does not tokenize."""
    found = await asyncio.gather(*(_tokenized(client, {"prompt": text.content}) for text in matter.texts))
    return {
        text.name: text.content if ids is None else ids[: _longest(matter.asked.tokens, most)]
        for text, (ids, most) in zip(matter.texts, found, strict=True)
    }


def _longest(wanted: int, model_holds: int | None) -> int:
    """Return how long a text may be: one token of the context is for the answer that servers insist on."""
    return wanted if model_holds is None else max(1, min(wanted, model_holds - 1))


async def _questions(client: Client, matter: Matter) -> dict[str, Prompt]:
    """Return each question through the model's chat template where the server applies one, else as plain text."""
    chats = [{"messages": [{"role": "user", "content": text.content}]} for text in matter.questions]
    found = await asyncio.gather(*(_tokenized(client, chat) for chat in chats))
    return {
        text.name: f"Question: {text.content}\nAnswer:" if ids is None else ids
        for text, (ids, _) in zip(matter.questions, found, strict=True)
    }


async def _tokenized(client: Client, body: dict[str, Any]) -> tuple[list[int] | None, int | None]:
    """Return token ids and how many the model takes; None for what is not told."""
    try:
        answer = await client.beside("/tokenize", {"model": client.model, **body})
    except Refused as refusal:
        if refusal.status is None:
            raise
        return None, None
    match answer:
        case {"tokens": [int(), *_] as ids}:
            most = answer.get("max_model_len")
            return list(ids), most if isinstance(most, int) and most > 1 else None
        case _:
            return None, None


async def _scored(  # noqa: PLR0913, PLR0917 - one request of a round
    client: Client, way: str, text: Text, prompt: Prompt, asking: int, matter: Matter
) -> ScoredText | str:
    try:
        choice = await client.complete(WAYS[way].body(prompt, matter.asked.top))
    except Refused as refusal:
        if refusal.status is None:
            raise
        return f"{text.name}: {refusal}"
    tokens = WAYS[way].read(choice, prompt)
    if tokens is None:
        return f"{text.name}: an answer without the prompt's log-probabilities"
    return ScoredText(text.name, text.domain, asking, readable(tokens, text.content))


async def _answered(client: Client, name: str, prompt: Prompt, asking: int, matter: Matter) -> FreeAnswer | str:
    body = {"prompt": prompt, "max_tokens": matter.asked.answer_tokens, "temperature": 0, "logprobs": 1}
    if not isinstance(prompt, str):  # who tokenizes also tells ids
        body |= {"return_token_ids": True, "add_special_tokens": False}
    try:
        choice = await client.complete(body)
    except Refused as refusal:
        if refusal.status is None:
            raise
        return f"{name}: {refusal}"
    return FreeAnswer(name, asking, answer_keys(choice), str(choice.get("text", "")), choice.get("finish_reason"))


def answer_keys(choice: Mapping[str, Any]) -> tuple[str, ...]:
    """Return an answer's tokens: ids where they are told, else texts, else its characters."""
    ids = choice.get("token_ids")
    if isinstance(ids, list) and ids:
        return tuple(str(each) for each in ids)
    logprobs = choice.get("logprobs")
    texts = logprobs.get("tokens") if isinstance(logprobs, dict) else None
    return tuple(map(str, texts)) if texts else tuple(str(choice.get("text", "")))
