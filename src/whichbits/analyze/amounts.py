"""Amounts of what a study is made of: one of a kind, all of them, or some of so many."""

from whichbits.language.amounts import amount
from whichbits.language.phrase import Phrase, phrase


def arms(count: int) -> Phrase:
    """Return ``1 arm`` or ``4 arms``."""
    return amount(count, "arm")


def cells(count: int) -> Phrase:
    """Return ``1 cell`` or ``48 cells``."""
    return amount(count, "cell")


def steps(count: int) -> Phrase:
    """Return ``1 step`` or ``4 steps``."""
    return amount(count, "step")


def repeats(count: int) -> Phrase:
    """Return ``1 repeat`` or ``3 repeats``."""
    return amount(count, "repeat")


def server_starts(count: int) -> Phrase:
    """Return ``1 server start`` or ``4 server starts``."""
    return amount(count, "server start")


def cells_of(count: int, total: int) -> Phrase:
    """Return ``the only cell``, ``both cells``, ``all 8 cells`` or ``3 of 8 cells``; none of one is ``0 of 1 cell``."""
    if count < total:
        return phrase("{count} of {cells}", count=count, cells=cells(total))
    few = {1: phrase("the only cell"), 2: phrase("both cells")}
    return few.get(total) or phrase("all {total} cells", total=total)
