"""Amounts in words: one of a kind, all of them, or some of so many."""

from whichbits.language.phrase import Phrase, phrase


def arms(count: int) -> Phrase:
    """Return ``1 arm`` or ``4 arms``."""
    return phrase("1 arm") if count == 1 else phrase("{count} arms", count=count)


def cells(count: int) -> Phrase:
    """Return ``1 cell`` or ``48 cells``."""
    return phrase("1 cell") if count == 1 else phrase("{count} cells", count=count)


def steps(count: int) -> Phrase:
    """Return ``1 step`` or ``4 steps``."""
    return phrase("1 step") if count == 1 else phrase("{count} steps", count=count)


def repeats(count: int) -> Phrase:
    """Return ``1 repeat`` or ``3 repeats``."""
    return phrase("1 repeat") if count == 1 else phrase("{count} repeats", count=count)


def server_starts(count: int) -> Phrase:
    """Return ``1 server start`` or ``4 server starts``."""
    return phrase("1 server start") if count == 1 else phrase("{count} server starts", count=count)


def cells_of(count: int, total: int) -> Phrase:
    """Return ``the only cell``, ``both cells``, ``all 8 cells`` or ``3 of 8 cells``; none of one is ``0 of 1 cell``."""
    if count < total:
        return phrase("{count} of {cells}", count=count, cells=cells(total))
    few = {1: phrase("the only cell"), 2: phrase("both cells")}
    return few.get(total) or phrase("all {total} cells", total=total)
