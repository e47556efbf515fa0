"""Where a file lies, as a person can name it from the folder that whichbits was called in."""

from pathlib import Path


def seen_from_here(path: Path) -> str:
    """Return ``path`` relative to the working folder if it lies below it, else whole."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)
