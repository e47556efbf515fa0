"""Files of a run that may leave: what lies in its folder, under no other name and by no link out of it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SHOWN = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "text/plain; charset=utf-8",
    ".log": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}
_OTHER = "application/octet-stream"


@dataclass(frozen=True)
class RunFile:
    """A file by its path within the run."""

    path: str
    bytes: int


def files_of(folder: Path) -> list[RunFile]:
    """Return the run's files, by path."""
    return list(_measured(folder, sorted(_inside(folder))))


def find_file(folder: Path, path: str) -> Path | None:
    """Return the file at ``path`` within the run; None for anything else, a way out of the folder included."""
    return next((each for each in _inside(folder) if _within(folder, each) == path), None)


def content_type(path: Path) -> str:
    """Return as what a browser may take a file; what it cannot show, it saves."""
    return _SHOWN.get(path.suffix, _OTHER)


def _measured(folder: Path, found: Iterable[Path]) -> Iterator[RunFile]:
    for path in found:
        # A run under way renames and removes files meanwhile.
        with suppress(OSError):
            yield RunFile(_within(folder, path), path.stat().st_size)


def _inside(folder: Path) -> Iterator[Path]:
    home = folder.resolve()
    for path in folder.rglob("*"):
        if is_there(path) and path.resolve().is_relative_to(home):
            yield path


def _within(folder: Path, path: Path) -> str:
    return _utf8(path.relative_to(folder).as_posix())


def shown_name(folder: Path) -> str:
    """Return a folder's name as a page can show it: letters that are not UTF-8 are replaced."""
    return _utf8(folder.name)


def _utf8(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def is_there(path: Path) -> bool:
    """Return whether a file can be found; one in a folder that is closed to us cannot."""
    try:
        return path.is_file()
    except PermissionError:
        return False
