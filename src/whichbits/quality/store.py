"""What arms said, on disk: quality/ARM.tokens.parquet and quality/ARM.answers.parquet in a run folder.

A row of the first is a token of a text: text, domain, asking, position, key, token, logprob, and the likeliest tokens
in top_keys and top_logprobs. A row of the second is an answer. Null is missing.
"""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichbits.quality.asked import Asked, FreeAnswer, ScoredText, Token
from whichbits.record.atomic import replacing
from whichbits.record.manifest import broken

FOLDER = "quality"
_TOKENS, _ANSWERS = ".tokens.parquet", ".answers.parquet"
_ABOUT = b"whichbits.quality"

_TOKEN_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("text", pa.string(), nullable=False),
    pa.field("domain", pa.string(), nullable=False),
    pa.field("asking", pa.int8(), nullable=False),
    pa.field("position", pa.int32(), nullable=False),
    pa.field("key", pa.string(), nullable=False),
    pa.field("token", pa.string(), nullable=False),
    pa.field("logprob", pa.float64()),
    pa.field("top_keys", pa.list_(pa.string()), nullable=False),
    pa.field("top_logprobs", pa.list_(pa.float64()), nullable=False),
]
TOKENS: pa.Schema = pa.schema(_TOKEN_FIELDS)
_ANSWER_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("name", pa.string(), nullable=False),
    pa.field("asking", pa.int8(), nullable=False),
    pa.field("tokens", pa.list_(pa.string()), nullable=False),
    pa.field("text", pa.string(), nullable=False),
    pa.field("finish_reason", pa.string()),
]
ANSWERS: pa.Schema = pa.schema(_ANSWER_FIELDS)


def is_asked(folder: Path, arm: str) -> bool:
    """Return whether the run holds what the arm said."""
    return _path(folder, arm, _TOKENS).exists()


def write_asked(folder: Path, asked: Asked) -> None:
    """Keep what an arm said; the tokens last, since their file says that all is there."""
    (folder / FOLDER).mkdir(exist_ok=True)
    answers = [_row(each) for each in asked.answers]
    _write(_path(folder, asked.arm, _ANSWERS), pa.Table.from_pylist(answers, schema=ANSWERS))
    about = msgspec.json.encode({"way": asked.way, "notes": asked.notes})
    tokens = pa.Table.from_pylist(list(_token_rows(asked.texts)), schema=TOKENS.with_metadata({_ABOUT: about}))
    _write(_path(folder, asked.arm, _TOKENS), tokens)


def read_asked(folder: Path) -> dict[str, Asked]:
    """Return what every arm said, by arm; empty for a run without quality.

    Raises:
        BadInput: ``run_broken``.
    """
    paths = sorted((folder / FOLDER).glob(f"*{_TOKENS}"))
    found = (_read(folder, unquote(path.name.removesuffix(_TOKENS))) for path in paths)
    return {asked.arm: asked for asked in found}


def _read(folder: Path, arm: str) -> Asked:
    try:
        with pq.ParquetFile(_path(folder, arm, _TOKENS)) as file:
            tokens = file.read(use_threads=False)
        with pq.ParquetFile(_path(folder, arm, _ANSWERS)) as file:
            answers = file.read(use_threads=False)
        about = msgspec.json.decode((tokens.schema.metadata or {})[_ABOUT])
        texts = tuple(
            _scored(rows) for _, rows in groupby(tokens.to_pylist(), lambda row: (row["asking"], row["text"]))
        )
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise broken(folder, f"what {arm} answered cannot be read: {error}") from error
    said = tuple(FreeAnswer(**(row | {"tokens": tuple(row["tokens"])})) for row in answers.to_pylist())
    return Asked(arm, about["way"], texts, said, tuple(about["notes"]))


def _token_rows(texts: Iterable[ScoredText]) -> Iterable[dict[str, Any]]:
    for text in texts:
        for position, token in enumerate(text.tokens):
            yield {
                "text": text.name,
                "domain": text.domain,
                "asking": text.asking,
                "position": position,
                "key": _storable(token.key),
                "token": _storable(token.text),
                "logprob": token.logprob,
                "top_keys": [_storable(key) for key in token.top],
                "top_logprobs": list(token.top.values()),
            }


def _scored(rows: Iterable[dict[str, Any]]) -> ScoredText:
    first, *others = rows
    tokens = (
        Token(row["key"], row["token"], row["logprob"], dict(zip(row["top_keys"], row["top_logprobs"], strict=True)))
        for row in (first, *others)
    )
    return ScoredText(first["text"], first["domain"], first["asking"], tuple(tokens))


def _row(answer: FreeAnswer) -> dict[str, Any]:
    tokens = [_storable(token) for token in answer.tokens]
    return {name: getattr(answer, name) for name in ANSWERS.names} | {"tokens": tokens, "text": _storable(answer.text)}


def _storable(text: str) -> str:
    """Return text that UTF-8 can hold: a token may be half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _path(folder: Path, arm: str, ending: str) -> Path:
    return folder / FOLDER / f"{quote(arm, safe='')}{ending}"


def _write(path: Path, table: pa.Table) -> None:
    with replacing(path) as partial:
        pq.write_table(table, partial, compression="zstd")
