"""Which state of a file was read: what is remembered of it holds as long as this is the same."""

from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from whichbits.errors import BadInput


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
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None
    if not S_ISREG(state.st_mode):
        # A pipe or a device may never end, and is not read twice.
        raise unreadable(file, OSError(0, "Is a directory" if S_ISDIR(state.st_mode) else "it is no regular file"))
    return FileVersion(file, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)
def digest_of(version: FileVersion) -> str:
    """Return the SHA-256 of the file's bytes, in hexadecimal.

    Raises:
        BadInput: ``traffic_file_unreadable``.
    """
    try:
        with version.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(version.path, error) from None


def unreadable(path: Path, error: Exception) -> BadInput:
    """Return the error for a file that is not there, or is no text."""
    said = (error.strerror or str(error)) if isinstance(error, OSError) else "it is no UTF-8 text"
    return BadInput(
        "traffic_file_unreadable",
        f"the traffic's file {path} cannot be read: {said}",
        why="the path is wrong (it counts from the working folder), is a folder, or the file is packed or binary",
        fix="name the unpacked file, and look at it with `whichbits inspect`",
    )
