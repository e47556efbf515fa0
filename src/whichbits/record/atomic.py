"""Files that appear whole or not at all, so that a kill never leaves half of one under its name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a neighbour of ``path`` to write to; it takes over the name only if the block ends well."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
