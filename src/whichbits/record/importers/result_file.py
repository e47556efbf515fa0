"""Another tool's result file, read once as JSON, YAML or plain text, and the numbers in it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from whichbits.errors import BadInput
from whichbits.record.json_records import JsonRecords, read_json_records

Json = Mapping[str, Any]

_MOST_BYTES = 2**30
"""Above it a file is refused: results with every answer's text stay far below."""

_MOST_YAML_BYTES = 2**25
"""YAML is read a hundred times slower than JSON, and reports in it hold no requests."""

_MOST = 1e18
"""No count, time or rate is as large; what is, is infinite or a mistake."""


@dataclass(frozen=True)
class ResultFile:
    """A file's name without its ending, and its text."""

    stem: str
    text: str

    @cached_property
    def json(self) -> JsonRecords:
        """The JSON records in the text: the items of an array, one object, or one a line."""
        return read_json_records(self.text)

    @cached_property
    def objects(self) -> tuple[Json, ...]:
        """The records if all are objects and none is broken, else nothing."""
        values = self.json.values
        whole = bool(values) and all(isinstance(value, dict) for value in values)
        return tuple(values) if whole else ()

    @cached_property
    def document(self) -> Json:
        """The one object that the file is, in JSON or YAML; empty if it is something else."""
        if len(self.objects) == 1:
            return self.objects[0]
        if self.text.lstrip()[:1] in "[{" or len(self.text) > _MOST_YAML_BYTES:
            return {}
        try:
            found = yaml.load(self.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both safe
        except (yaml.YAMLError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def read_file(path: Path) -> ResultFile:
    """Read a file's text.

    Raises:
        BadInput: ``unreadable_file`` or ``result_too_large``.
    """
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise _too_large(path, size)
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: NUL is in no name
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(
            "unreadable_file",
            f"{path} cannot be read: {reason}.",
            why="It does not exist here, is a folder, or belongs to someone else.",
            fix="Check the path and its permissions.",
        ) from error
    return ResultFile(path.stem, content.decode("utf-8-sig", errors="replace"))


def number(value: object) -> float | None:
    """Return a count, time or rate, or None for anything that is none: text, NaN, infinite, negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An int may be too large for a float; comparing does not convert it.
    return float(value) if 0 <= value < _MOST and math.isfinite(value) else None


def whole(value: object) -> int | None:
    """Return a count, or None."""
    found = number(value)
    return None if found is None else round(found)


def words(value: object) -> str | None:
    """Return text that is not empty, or None."""
    return value if isinstance(value, str) and value.strip() else None


def part(holder: object, *path: str) -> Json:
    """Return the object that stands at the end of a path of keys; empty if there is none."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder if isinstance(holder, Mapping) else {}


def items(holder: object, *path: str) -> list[Any]:
    """Return the list at the end of a path of keys; empty if there is none."""
    *above, last = path
    found = part(holder, *above).get(last)
    return found if isinstance(found, list) else []


def statistics(holder: str, source: Json, names: Mapping[str, str], scale: float = 1.0) -> Iterator[tuple[str, float]]:
    """Yield (address, value) of those statistics of ``source`` that are numbers; ``names`` gives its key for each."""
    for statistic, key in names.items():
        value = number(source.get(key))
        if value is not None:
            yield f"{holder}.{statistic}", value * scale


def _too_large(path: Path, size: int) -> BadInput:
    return BadInput(
        "result_too_large",
        f"{path} has {size / 2**30:.1f} GiB; result files of up to 1 GiB are read",
        why="it is not a result file, or it holds the text of very many answers",
        fix="write the result without the texts of prompts and answers",
    )
