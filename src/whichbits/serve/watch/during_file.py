"""The scrapes that a run keeps of one replica during its cells, gzip members of a JSON line each: what they span."""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichbits.record.gzip_members import read_members
from whichbits.record.inspection import Inspection, Problem
from whichbits.record.scrapes import Scrape
from whichbits.serve.metrics import NAMES, EngineCounters, State, counters_of, read_exposition

_GZIP_MARK = b"\x1f\x8b"
_FIRST = b'{"arm":'
_PEAKS: dict[str, State] = {
    "num_requests_running_peak": "requests_running",
    "num_requests_waiting_peak": "requests_waiting",
    "kv_cache_usage_peak": "kv_cache_usage",
}
_STEMS = tuple({name.stem for engine in NAMES.values() for state in _PEAKS.values() for name in engine.get(state, ())})


def recognise_file(path: Path) -> Inspection | None:
    """Return how many scrapes there are, when the first and the last were taken, and the highest readings between.

    Times are seconds since the run's start. None if the file is nothing of this kind. Raises OSError.
    """
    if not _begins_as_scrapes(path):
        return None
    span = _Span()
    errors: tuple[Problem, ...] = ()
    try:
        for scrape in _scrapes(path):
            span.take(scrape)
    except (zlib.error, msgspec.MsgspecError):
        errors = (Problem("file_cut_off"),)
    return Inspection("metrics", span.engine, None, span.facts(), errors)


class _Span:
    """What a series of scrapes of one replica shows, one in memory at a time."""

    def __init__(self) -> None:
        self.engine: str | None = None
        self._first: Scrape | None = None
        self._last: Scrape | None = None
        self._number = 0
        self._cells: set[int] = set()
        self._peaks: dict[str, float] = {}

    def take(self, scrape: Scrape) -> None:
        self._first, self._last = self._first or scrape, scrape
        self._number += 1
        if scrape.cell is not None:
            self._cells.add(scrape.cell)
        exposition = read_exposition(_states_only(scrape.text))
        if exposition is not None:
            self.engine = self.engine or exposition.engine
            self._raise_peaks(counters_of(exposition))

    def _raise_peaks(self, counters: EngineCounters) -> None:
        for fact, state in _PEAKS.items():
            value = getattr(counters, state)
            if value is not None:
                self._peaks[fact] = max(value, self._peaks.get(fact, value))

    def facts(self) -> dict[str, Any]:
        if self._first is None or self._last is None:
            return {"scrapes": 0}
        return {
            "scrapes": self._number,
            "arm": self._last.arm,
            "replica": self._last.replica,
            "phase": self._last.phase,
            "cells": sorted(self._cells),
            "first_scrape_seconds": self._first.time_ns / 1e9,
            "last_scrape_seconds": self._last.time_ns / 1e9,
        } | self._peaks


def _begins_as_scrapes(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if not head.startswith(_GZIP_MARK):
        return False
    try:
        return zlib.decompressobj(31).decompress(head, len(_FIRST)) == _FIRST
    except zlib.error:
        return False


def _scrapes(path: Path) -> Iterator[Scrape]:
    for member in read_members(path):
        for line in _lines(member.content):
            yield msgspec.json.decode(line, type=Scrape)


def _lines(content: bytes) -> Iterable[bytes]:
    # A file that somebody unpacked and packed again is one member of many lines.
    return (line for line in content.splitlines() if line)


def _states_only(text: str) -> str:
    """Keep the few lines that peaks are read from: a scrape has hundreds, and an hour thousands of scrapes."""
    return "\n".join(line for line in text.splitlines() if any(stem in line for stem in _STEMS)) + "\n"
