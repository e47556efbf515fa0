"""Counting the tokens of answers that came without usage: after a cell, when nothing is measured."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whichbits.errors import BadInput, ServerNotReady
from whichbits.record.schema import RequestRecord, TokenCountSource
from whichbits.serve.arm import RunningArm
from whichbits.study.arm import Arm, ServersThatRun

_AT_ONCE = 8

Counts = Mapping[int, int]
"""Output tokens by a request's index."""


async def count_tokens(
    arm: Arm, running: RunningArm, records: Sequence[RequestRecord]
) -> tuple[list[RequestRecord], TokenCountSource | None]:
    """Return the records with the best count there is of each answer's tokens, and who counted.

    The server's usage counts where the arm tells any. Else the server's /tokenize does on the texts, else the target's
    ``tokenizer_file``, else a chunk counts as a token. A text's tokens may differ by a few from those generated, so a
    count that is not the usage's never makes an answer short or long.
    """
    good = [record for record in records if record.succeeded]
    if running.tells_usage or any(record.output_tokens is not None for record in good):
        return [replace(record, text=None) for record in records], "usage" if good else None
    texts = {record.index: record.text for record in good if record.text is not None}
    if counts := await _by_endpoint(running, texts):
        return _counted(records, counts), "tokenize endpoint"
    if counts := await _by_file(arm.target, texts):
        return _counted(records, counts), "tokenizer"
    return _counted(records, {record.index: len(record.chunk_ns) for record in good}), "chunks" if good else None


def insist_on_tokenizer(target: ServersThatRun) -> None:
    """Raise BadInput if the target names a tokenizer that cannot be used."""
    if target.tokenizer_file is not None:
        _tokenizer(target.tokenizer_file)


def _counted(records: Sequence[RequestRecord], counts: Counts) -> list[RequestRecord]:
    return [replace(record, output_tokens=counts.get(record.index), text=None) for record in records]


async def _by_endpoint(running: RunningArm, texts: Mapping[int, str]) -> Counts:
    """Ask the first replica; nothing if it has no /tokenize, or stops answering."""
    if not texts or not running.fleet.replicas or not running.fleet.endpoints:
        return {}
    control, model = running.fleet.replicas[0].control, running.fleet.endpoints[0].model
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(text: str) -> int | None:
        async with gate:
            return await control.token_count(text, model)

    try:
        if await one(next(iter(texts.values()))) is None:
            return {}
        counts = await asyncio.gather(*(one(text) for text in texts.values()))
    except ServerNotReady:
        return {}
    return {index: count for index, count in zip(texts, counts, strict=True) if count is not None}


async def _by_file(target: ServersThatRun | None, texts: Mapping[int, str]) -> Counts:
    if target is None or target.tokenizer_file is None or not texts:
        return {}
    tokenizer = _tokenizer(target.tokenizer_file)
    found = await asyncio.to_thread(tokenizer.encode_batch, list(texts.values()), add_special_tokens=False)
    return {index: len(encoding.ids) for index, encoding in zip(texts, found, strict=True)}


def _tokenizer(path: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise _unusable(
            path, "the package tokenizers is not installed", "pip install 'whichbits[tokenizers]'"
        ) from error
    try:
        return Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
    except Exception as error:  # tokenizers raises Exception itself
        raise _unusable(path, str(error), "name the tokenizer.json of the served model") from error


def _unusable(path: str, why: str, fix: str) -> BadInput:
    return BadInput("tokenizer_file_unusable", f"{path} cannot count tokens", why=why, fix=fix)
