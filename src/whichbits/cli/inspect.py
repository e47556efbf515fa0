"""``whichbits inspect``: read what an engine or a tool wrote, whatever it is."""

import json as json_text
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

from cyclopts import Parameter

from whichbits.errors import BadInput
from whichbits.record.inspection import Inspection

_RECOGNISERS = (
    "whichbits.record.importers.inspect:recognise",
    "whichbits.serve.metric_names:recognise",
    "whichbits.drive.inspect_stream:recognise",
    "whichbits.traffic.inspect_dataset:recognise",
    "whichbits.serve.logs.read:recognise",
)
"""In this order: the strictest shapes first, logs last, since a log may hold anything."""

_FILE_RECOGNISERS = ("whichbits.analyze.kernels.inspect:recognise_file",)
"""These come first and read the file themselves, which may be packed, or larger than memory."""

_MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def inspect(*files: Path, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Say what engine logs, /metrics dumps, result files, SSE captures and data sets hold, with the line of each fact.

    Args:
        files: What to read; the content decides what it is, not the name.
        json: Print one object a file on stdout.
    """
    if not files:
        raise BadInput("no_file", "No file was given.", why="inspect reads files.", fix="Name one or more files.")
    for file in files:
        inspection = _recognised(file)
        if json:
            print(json_text.dumps(_as_json(inspection), ensure_ascii=False))
        else:
            _show(file, inspection)
    return 0


def _recognised(file: Path) -> Inspection:
    for place in _FILE_RECOGNISERS:
        recognise_file = cast("Callable[[Path], Inspection | None]", _function(place))
        try:
            inspection = recognise_file(file)
        except OSError as error:
            raise _unreadable(file, error) from error
        if inspection:
            return inspection
    text = _text(file)
    for place in _RECOGNISERS:
        recognise = cast("Callable[[str, str], Inspection | None]", _function(place))
        if inspection := recognise(file.name, text):
            return inspection
    raise BadInput(
        "unknown_content",
        f"{file} is nothing that whichbits can read.",
        why="It holds no line of a known engine, metrics endpoint, benchmark, stream or data set.",
        fix="Give the server's own output, unshortened; a few lines are enough if they hold facts.",
    )


def _function(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from error
    return content.decode("utf-16" if content[:2] in _MARKS_OF_UTF16 else "utf-8-sig", errors="replace")


def _unreadable(file: Path, error: OSError) -> BadInput:
    return BadInput(
        "unreadable_file",
        f"{file} cannot be read: {error.strerror}.",
        why="It does not exist here, is a folder, or belongs to someone else.",
        fix="Check the path and its permissions.",
    )


def _as_json(inspection: Inspection) -> dict[str, Any]:
    return {
        "kind": inspection.kind,
        "engine": inspection.engine,
        "engine_version": inspection.engine_version,
        "facts": inspection.facts,
        "errors": [{"code": error.code, "line": error.line} for error in inspection.errors],
        "warnings": [{"code": each.code, "line": each.line} for each in inspection.warnings],
        "lines": inspection.lines,
    }


def _show(file: Path, inspection: Inspection) -> None:
    from rich.console import Console

    from whichbits.report.inspection import print_inspection

    print_inspection(str(file), inspection, Console())
