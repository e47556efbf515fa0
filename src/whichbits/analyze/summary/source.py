"""What the numbers of a run are, in a word, and of which loads they are: the one place where these words are chosen."""

from whichbits.language.phrase import Phrase, phrase

SOURCES = {"measured": phrase("measured"), "imported": phrase("imported"), "predicted": phrase("predicted")}
"""By the summary's ``source``."""


def compared_at(loads: str, unit: str = "") -> Phrase:
    """Return of which loads an answer is: those at which arms were compared, wherever the numbers are from.

    ``unit`` stands behind the loads, its space included, where it does not stand elsewhere.
    """
    return phrase("compared at {loads}{unit}", loads=loads, unit=unit)


def met_at(source: str, loads: str) -> Phrase:
    """Return of which loads a run is that compares nothing; another tool measured what was imported."""
    if source == "predicted":
        return phrase("predicted at {loads}", loads=loads)
    return phrase("measured at {loads}", loads=loads)
