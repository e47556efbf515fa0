"""A run folder that goes away while it is written to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whichbits.errors import BadInput


@contextmanager
def still_there(folder: Path) -> Iterator[None]:
    """Say of a missing file that its whole folder went away, if it did.

    Raises:
        BadInput: ``run_folder_gone``.
        FileNotFoundError: of the block, if the folder is there.
    """
    try:
        yield
    except FileNotFoundError as error:
        if folder.exists():
            raise
        raise BadInput(
            "run_folder_gone",
            f"{folder} went away during the run, and nothing more can be written to it",
            why="it was renamed, moved or removed, or its disk was unmounted; the servers are ended",
            fix="leave a run's folder where it is while it runs; one that was moved goes on with "
            "`whichbits run --resume FOLDER`",
        ) from error
