"""Wordings of log lines as data: each named group of a pattern is the name of a fact."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from whichbits.serve.logs.lines import LogLine

BYTES_PER_GIB = 1 << 30

_INTEGER = re.compile(r"-?\d{1,3}(?:,\d{3}){1,5}|-?\d{1,18}")
_DECIMAL = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d{1,18})\.\d*")
_MEANT_AS_NUMBER = re.compile(r"[-\d.,]+")
_NEVER_NUMBERS = frozenset({"engine_version", "model", "architecture"})


@dataclass(frozen=True)
class Wording:
    """One way in which engines say something.

    ``mark`` is a piece of the line that is looked for first, since most lines of a long log match nothing;
    ``says`` holds facts that follow from the line being there at all.
    """

    mark: str
    pattern: re.Pattern[str]
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """One fact, once, as one line says it."""

    name: str
    value: Any
    line: LogLine


@dataclass
class FactSheet:
    """Facts in the making, each with the line it was read from; what is put later counts."""

    facts: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: Any, line: LogLine | str | None = None) -> None:
        """Set a fact; a line of None marks one that was derived from others."""
        self.facts[name] = value
        self.lines.pop(name, None)
        if line is not None:
            self.lines[name] = line if isinstance(line, str) else line.shown

    def put_all(self, readings: Iterable[Reading]) -> None:
        """Set facts in their order."""
        for reading in readings:
            self.put(reading.name, reading.value, reading.line)

    def put_first(self, readings: Iterable[Reading]) -> None:
        """Set facts that are not there yet."""
        for reading in readings:
            if reading.name not in self.facts:
                self.put(reading.name, reading.value, reading.line)

    def put_bytes_per_token(self) -> None:
        """Put KV bytes of a token = memory of the pool / its tokens; for logs where one GPU holds the whole pool."""
        memory, tokens = self.facts.get("kv_cache_memory_gib"), self.facts.get("kv_cache_tokens")
        if memory and tokens:
            self.put("kv_bytes_per_token_derived", round(memory * BYTES_PER_GIB / tokens))


def wording(mark: str, pattern: str | None = None, **says: Any) -> Wording:
    """Return a wording; without a pattern the mark alone is it."""
    return Wording(mark, re.compile(re.escape(mark) if pattern is None else pattern), says)


def read(wordings: Iterable[Wording], lines: Iterable[LogLine]) -> Iterator[Reading]:
    """Yield every fact of every line, in the order of the lines."""
    wordings = tuple(wordings)
    for line in lines:
        for known, found in searched(wordings, line):
            yield from _readings(known, found, line)


def searched(wordings: Iterable[Wording], line: LogLine) -> Iterator[tuple[Wording, re.Match[str]]]:
    """Yield the wordings that begin in this line."""
    whole = line.whole
    for known in wordings:
        if known.mark in whole and (found := search(known, line)):
            yield known, found


def search(known: Wording, line: LogLine) -> re.Match[str] | None:
    """Find a wording that begins in this line, even if the line was wrapped."""
    for text in line.readings if line.continuation else (line.text,):
        found = known.pattern.search(text) if known.mark in text else None
        if found and found.start() < max(1, len(line.text)):
            return None if _is_cut(found, line) else found
    return None


def plain(text: str) -> int | float | str:
    """Return a printed number as a number (thousands may be separated by commas), other text as it is."""
    if _INTEGER.fullmatch(text):
        return int(text.replace(",", ""))
    if _DECIMAL.fullmatch(text):
        return float(text.replace(",", ""))
    return text


def _readings(known: Wording, found: re.Match[str], line: LogLine) -> Iterator[Reading]:
    for name, text in found.groupdict().items():
        if text is None:
            continue
        value = text if name in _NEVER_NUMBERS else plain(text)
        if name in _NEVER_NUMBERS or not (isinstance(value, str) and _MEANT_AS_NUMBER.fullmatch(text)):
            yield Reading(name, value, line)
    for name, value in known.says.items():
        yield Reading(name, value, line)


def _is_cut(found: re.Match[str], line: LogLine) -> bool:
    """Return whether the text ends inside the last value that was found."""
    if not line.cut:
        return False
    return any(found.end(name) == len(line.text) for name in found.groupdict() if found[name] is not None)
