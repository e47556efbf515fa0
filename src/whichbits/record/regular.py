"""Refuses what would be waited for without end: a pipe or a device in the place of a run's file."""

import errno
from pathlib import Path


def insist_on_file(path: Path) -> None:
    """Raise OSError if ``path`` is there and neither a file nor a folder."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
