"""Where the facts of an inspection stand in the text: numbers of lines, and each line once."""

from collections.abc import Mapping
from typing import NamedTuple

LONGEST_TEXT = 500
"""Characters kept of a line: some engines print all their settings in one of thousands."""

_CUT = "\N{HORIZONTAL ELLIPSIS}"


class NumberedLines(NamedTuple):
    """The line of each fact by its number, and the text of each of these lines once.

    A line that does not stand in the file as it is, since its reader joined what was wrapped or undid what a logger
    had put in between, has a number below zero.
    """

    of_facts: dict[str, int]
    texts: dict[int, str]


def numbered(text: str, lines: Mapping[str, str]) -> NumberedLines:
    """Return the numbers and the texts of ``lines``, which holds the line of each fact."""
    places = _places(text, lines)
    joined = dict.fromkeys(line for line in lines.values() if line not in places)
    numbers = places | {line: -number for number, line in enumerate(joined, start=1)}
    of_facts = {name: numbers[line] for name, line in lines.items()}
    texts = {number: shortened(line) for line, number in numbers.items()}
    return NumberedLines(of_facts, dict(sorted(texts.items(), key=lambda entry: (entry[0] < 0, abs(entry[0])))))


def line_numbers(text: str, lines: Mapping[str, str]) -> dict[str, int]:
    """Return the number of each fact's line in the text, from 1, where the line can be found as it stands."""
    places = _places(text, lines)
    return {name: places[line] for name, line in lines.items() if line in places}


def shortened(line: str) -> str:
    """Return at most ``LONGEST_TEXT`` characters of a line, the last a mark where it was cut."""
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + _CUT


def _places(text: str, lines: Mapping[str, str]) -> dict[str, int]:
    wanted = set(lines.values())
    places: dict[str, int] = {}
    for number, line in enumerate(text.splitlines() if wanted else (), start=1):
        found = next((form for form in (line.strip(), " ".join(line.split())) if form in wanted), None)
        if found is not None:
            places.setdefault(found, number)
    return places
