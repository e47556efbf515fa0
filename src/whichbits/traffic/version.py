"""Which state of a file was read: what is remembered of it holds as long as this is the same."""

from pathlib import Path
from typing import NamedTuple

from whichbits.traffic.facts import unreadable


class FileVersion(NamedTuple):
    """A file with its size and the time of its last change."""

    path: Path
    bytes: int
    changed_ns: int


def version_of(path: str | Path) -> FileVersion:
    """Return the file's present state.

    Raises:
        BadInput: ``traffic_file_unreadable``.
    """
    file = Path(path).expanduser()
    try:
        state = file.stat()
    except OSError as error:
        raise unreadable(file, error) from None
    return FileVersion(file, state.st_size, state.st_mtime_ns)
