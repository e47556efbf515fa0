"""Amounts in words: a number and what it counts, of which one is said otherwise than several in English."""

import re
from typing import Literal, get_args

from whichbits.language.phrase import Phrase, phrase

Noun = Literal[
    "answer",
    "arm",
    "cell",
    "column",
    "content chunk",
    "core",
    "failed request",
    "GPU",
    "load",
    "matrix",
    "metric",
    "minute",
    "mock",
    "model",
    "note",
    "output token",
    "pod",
    "preempted request",
    "problem",
    "prompt token",
    "repeat",
    "replica",
    "request",
    "requirement",
    "row",
    "scrape",
    "second",
    "server start",
    "shard",
    "span",
    "step",
    "stream",
    "text",
    "token",
    "value",
    "worker",
]
_ONE_AND_SEVERAL: dict[Noun, tuple[Phrase, Phrase]] = {
    "answer": (phrase("1 answer"), phrase("{count:,} answers", count=2)),
    "arm": (phrase("1 arm"), phrase("{count:,} arms", count=2)),
    "cell": (phrase("1 cell"), phrase("{count:,} cells", count=2)),
    "column": (phrase("1 column"), phrase("{count:,} columns", count=2)),
    "content chunk": (phrase("1 content chunk"), phrase("{count:,} content chunks", count=2)),
    "core": (phrase("1 core"), phrase("{count:,} cores", count=2)),
    "failed request": (phrase("1 failed request"), phrase("{count:,} failed requests", count=2)),
    "GPU": (phrase("1 GPU"), phrase("{count:,} GPUs", count=2)),
    "load": (phrase("1 load"), phrase("{count:,} loads", count=2)),
    "matrix": (phrase("1 matrix"), phrase("{count:,} matrices", count=2)),
    "metric": (phrase("1 metric"), phrase("{count:,} metrics", count=2)),
    "minute": (phrase("1 minute"), phrase("{count:,} minutes", count=2)),
    "mock": (phrase("1 mock"), phrase("{count:,} mocks", count=2)),
    "model": (phrase("1 model"), phrase("{count:,} models", count=2)),
    "note": (phrase("1 note"), phrase("{count:,} notes", count=2)),
    "output token": (phrase("1 output token"), phrase("{count:,} output tokens", count=2)),
    "pod": (phrase("1 pod"), phrase("{count:,} pods", count=2)),
    "preempted request": (phrase("1 preempted request"), phrase("{count:,} preempted requests", count=2)),
    "problem": (phrase("1 problem"), phrase("{count:,} problems", count=2)),
    "prompt token": (phrase("1 prompt token"), phrase("{count:,} prompt tokens", count=2)),
    "repeat": (phrase("1 repeat"), phrase("{count:,} repeats", count=2)),
    "replica": (phrase("1 replica"), phrase("{count:,} replicas", count=2)),
    "request": (phrase("1 request"), phrase("{count:,} requests", count=2)),
    "requirement": (phrase("1 requirement"), phrase("{count:,} requirements", count=2)),
    "row": (phrase("1 row"), phrase("{count:,} rows", count=2)),
    "scrape": (phrase("1 scrape"), phrase("{count:,} scrapes", count=2)),
    "second": (phrase("1 second"), phrase("{count:,} seconds", count=2)),
    "server start": (phrase("1 server start"), phrase("{count:,} server starts", count=2)),
    "shard": (phrase("1 shard"), phrase("{count:,} shards", count=2)),
    "span": (phrase("1 span"), phrase("{count:,} spans", count=2)),
    "step": (phrase("1 step"), phrase("{count:,} steps", count=2)),
    "stream": (phrase("1 stream"), phrase("{count:,} streams", count=2)),
    "text": (phrase("1 text"), phrase("{count:,} texts", count=2)),
    "token": (phrase("1 token"), phrase("{count:,} tokens", count=2)),
    "value": (phrase("1 value"), phrase("{count:,} values", count=2)),
    "worker": (phrase("1 worker"), phrase("{count:,} workers", count=2)),
}
_SAID = re.compile(r"([\d,]+) (.+)")


def amount(count: int, noun: Noun) -> Phrase:
    """Return ``1 request``, ``4 requests`` or ``12,000 requests``."""
    one, several = _ONE_AND_SEVERAL[noun]
    return one if count == 1 else Phrase.of(several.template, {"count": count})


def amount_said(text: str) -> Phrase | None:
    """Return a text that ``amount`` made as the phrase that it was; None for any other text."""
    if (found := _SAID.fullmatch(text)) is None or not (digits := found[1].replace(",", "")):
        return None
    made = (amount(int(digits), noun) for noun in get_args(Noun))
    return next((each for each in made if each == text), None)
