"""One process at a time writes a run: two would each take away what the other has measured."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whichbits.errors import BadInput


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a run while the block runs; a kill ends that, too.

    On a file system that has no locks, nobody is kept from anything.

    Raises:
        BadInput: ``run_in_use``.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        _lock(held, folder)
        yield
    finally:
        os.close(held)


def refuse_in_use(folder: Path) -> None:
    """Raise ``run_in_use`` if another process writes to a run now; a folder that is not there is used by nobody."""
    if folder.is_dir():
        with sole_writer(folder):
            pass


def _lock(held: int, folder: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BadInput(
            "run_in_use",
            f"another whichbits measures into {folder} now",
            why="a run has one writer: two would each take away what the other has measured",
            fix="wait until it ends, or end it; `whichbits view` shows how far it is",
        ) from error
    except OSError:
        return  # such as of NFS, which locks files only
