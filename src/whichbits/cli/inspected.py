"""From what a user names (files, run folders, standard input) to what each holds."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from whichbits.errors import BadInput, WhichbitsError
from whichbits.record.inspection import Inspection

STDIN = Path("-")

_RECOGNISERS = (
    "whichbits.record.importers.inspect:recognise",
    "whichbits.serve.watch.scrape_file:recognise",
    "whichbits.serve.metrics.facts:recognise",
    "whichbits.drive.answer.inspect_stream:recognise",
    "whichbits.traffic.inspect_dataset:recognise",
    "whichbits.serve.logs.read:recognise",
)
"""In this order: the strictest shapes first, logs last, since a log may hold anything."""

_FILE_RECOGNISERS = (
    "whichbits.serve.watch.during_file:recognise_file",
    "whichbits.analyze.kernels.inspect:recognise_file",
)
"""These come first and read the file themselves, which may be packed, or larger than memory."""

_PARTS_OF_A_RUN = ("logs", "scrapes", "profiles")
_TABLES = (".parquet",)
"""Tables, such as a run's requests and telemetry, are for pandas: a folder's are passed over."""

_MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Inspected(NamedTuple):
    """One file: its text, and what it holds, or why that is not known."""

    file: Path
    text: str
    inspection: Inspection | None
    error: WhichbitsError | None = None


def inspected(file: Path) -> Inspected:
    """Read one file; a file that cannot be read or holds nothing known is told by its error."""
    text = ""
    try:
        if file != STDIN and (inspection := _recognised_file(file)):
            return Inspected(file, text, inspection)
        text = _text(file)
        if not text.strip():
            raise _empty()
        return Inspected(file, text, recognised(file.name, text))
    except BadInput as error:
        return Inspected(file, text, None, error.about(str(file)))


def recognised(name: str, text: str) -> Inspection:
    """Return what a text holds.

    Raises:
        BadInput: ``unknown_content``.
    """
    for place in _RECOGNISERS:
        recognise = cast("Callable[[str, str], Inspection | None]", _function(place))
        if inspection := recognise(name, text):
            return inspection
    raise BadInput(
        "unknown_content",
        "this is nothing that whichbits can read.",
        why="It holds no line of a known engine, metrics endpoint, benchmark, stream or data set.",
        fix="Give the server's own output, unshortened; a few lines are enough if they hold facts.",
    )


def _recognised_file(file: Path) -> Inspection | None:
    try:
        recognisers = (cast("Callable[[Path], Inspection | None]", _function(place)) for place in _FILE_RECOGNISERS)
        return next((inspection for recognise in recognisers if (inspection := recognise(file))), None)
    except OSError as error:
        raise _unreadable(error) from error


def _function(place: str) -> object:
    module, _, function = place.partition(":")
    found: object = getattr(import_module(module), function)
    return found


def files_of(named: Path) -> Iterator[Path]:
    """Yield a file itself, of a run's folder its logs, scrapes and profiles, and of any other folder each file in it.

    Raises:
        BadInput: ``run_too_new`` or ``run_broken`` if a run cannot be read, ``no_file`` if a folder is empty.
    """
    if not named.is_dir():
        yield named
        return
    found = list(_files_of_run(named) if is_run(named) else _files_in(named))
    if not found:
        raise BadInput(
            "no_file",
            f"{named} holds no file to read.",
            why="Of a folder the files in it are read, and none of those in the folders below.",
            fix="Name the files, or the folder that they lie in.",
        )
    yield from found


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run's."""
    from whichbits.record.manifest import FILE_NAME

    return (folder / FILE_NAME).is_file()


def _files_of_run(folder: Path) -> Iterator[Path]:
    from whichbits.record.manifest import read_manifest

    read_manifest(folder)
    for part in _PARTS_OF_A_RUN:
        yield from _files_in(folder / part)


def _files_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        if path.is_file() and path.suffix not in _TABLES and not path.name.startswith("."):
            yield path


def mean_tokens_of(run: Path) -> float | None:
    """Return the mean size of a run's requests.

    Raises:
        BadInput: the folder is no run, or is damaged.
    """
    from whichbits.record.request_size import mean_tokens
    from whichbits.record.run import Run

    return mean_tokens(Run.load(run))


def _text(file: Path) -> str:
    try:
        content = sys.stdin.buffer.read() if file == STDIN else file.read_bytes()
    except OSError as error:
        raise _unreadable(error) from error
    return content.decode("utf-16" if content[:2] in _MARKS_OF_UTF16 else "utf-8-sig", errors="replace")


def _empty() -> BadInput:
    return BadInput(
        "empty_file",
        "this file is empty.",
        why="Nothing was written into it, or nothing but blanks.",
        fix="Look whether its writer ran, and whether what it says went elsewhere (stderr, a later file).",
    )


def _unreadable(error: OSError) -> BadInput:
    return BadInput(
        "unreadable_file",
        f"cannot be read: {error.strerror}.",
        why="It does not exist here, or belongs to someone else.",
        fix="Check the path and its permissions.",
    )
