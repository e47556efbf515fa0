"""Traces of real traffic: when requests came and how long they were, from BurstGPT, Azure and Mooncake."""

import csv
import io
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

TraceFormat = Literal["burstgpt", "azure", "mooncake"]
Unusable = Literal["unreadable_time", "unreadable_tokens", "no_prompt_tokens", "no_output_tokens"]

NotRead = Literal["not_an_object", "unreadable_row"]

_COUNT = re.compile(r"\d{1,12}(?:\.0*)?")


class Arrival(NamedTuple):
    """One request of a trace; ``at_s`` is the trace's own clock, ``blocks`` the hashes of its prompt's blocks."""

    at_s: float
    prompt_tokens: int
    output_tokens: int
    session: str | None = None
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trace:
    """A trace as read: its usable arrivals in the file's order, and why the other rows are not usable."""

    format: TraceFormat
    arrivals: list[Arrival]
    unusable: list[Unusable]


class _Columns(NamedTuple):
    """How a format names what an arrival needs, and reads its clock into seconds."""

    format: TraceFormat
    time: str
    prompt_tokens: str
    output_tokens: str
    seconds: Callable[[Any], float | None]
    session: str = "session id"
    blocks: str = "hash_ids"


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _milliseconds(value: Any) -> float | None:
    number = _number(value)
    return None if number is None else number / 1000


def _date(value: Any) -> float | None:
    """Return an ISO date as seconds; one without a zone is taken as UTC, since only differences matter."""
    try:
        date = datetime.fromisoformat(str(value).strip())
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


# Read by name: later releases of BurstGPT put columns in between.
_BURSTGPT = _Columns("burstgpt", "timestamp", "request tokens", "response tokens", _number)
_AZURE = _Columns("azure", "timestamp", "contexttokens", "generatedtokens", _date)
_MOONCAKE = _Columns("mooncake", "timestamp", "input_length", "output_length", _milliseconds, session="session_id")


def read_trace_table(text: str) -> Trace | None:
    """Return the trace in comma-separated ``text``, or None if its header is of no known trace."""
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        columns = _columns_of(header)
        if columns is None:
            return None
        return _read(columns, (dict(zip(header, row, strict=False)) for row in rows if row))
    except csv.Error:
        return None


def read_trace_records(records: list[Any]) -> Trace | None:
    """Return the trace in ``records``, one object a request, or None if they are of no known trace."""
    objects = [record for record in records if isinstance(record, Mapping)]
    if not any(_columns_of(record) is _MOONCAKE for record in objects):
        return None
    return _read(_MOONCAKE, objects)


def each_table_arrival(lines: Iterable[str]) -> tuple[TraceFormat | None, Iterator[Arrival | Unusable | NotRead]]:
    """Return which trace the table in ``lines`` is of, and its rows one after the other; None and none if unknown."""
    rows = csv.reader(iter(lines))
    try:
        header = [name.strip().lower() for name in next((row for row in rows if row), [])]
    except csv.Error:
        header = []
    columns = _columns_of(header)
    return (None, iter(())) if columns is None else (columns.format, _each_row(columns, header, rows))


def each_record_arrival(values: Iterable[Any]) -> tuple[TraceFormat | None, Iterator[Arrival | Unusable | NotRead]]:
    """Return the same of ``values`` from JSON; the first object tells which trace it is."""
    waiting = iter(values)
    passed: list[Any] = []
    for value in waiting:
        passed.append(value)
        if isinstance(value, Mapping):
            columns = _columns_of(value)
            if columns is not _MOONCAKE:
                break
            return columns.format, _each_record(columns, itertools.chain(passed, waiting))
    return None, iter(())


def _each_record(columns: _Columns, values: Iterable[Any]) -> Iterator[Arrival | Unusable | NotRead]:
    for value in values:
        yield _arrival(columns, value) if isinstance(value, Mapping) else "not_an_object"


def _each_row(
    columns: _Columns, header: list[str], rows: Iterator[list[str]]
) -> Iterator[Arrival | Unusable | NotRead]:
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            yield "unreadable_row"
            continue
        if row is None:
            return
        if row:
            yield _arrival(columns, dict(zip(header, row, strict=False)))


def _columns_of(names: Iterable[str]) -> _Columns | None:
    present = set(names)
    return next(
        (known for known in (_BURSTGPT, _AZURE, _MOONCAKE) if {known.prompt_tokens, known.output_tokens} <= present),
        None,
    )


def _read(columns: _Columns, rows: Iterable[Mapping[str, Any]]) -> Trace:
    trace = Trace(columns.format, [], [])
    for row in rows:
        read = _arrival(columns, row)
        if isinstance(read, Arrival):
            trace.arrivals.append(read)
        else:
            trace.unusable.append(read)
    return trace


def _arrival(columns: _Columns, row: Mapping[str, Any]) -> Arrival | Unusable:
    """Return the row's arrival. No output means a request that failed, as BurstGPT's authors say of theirs."""
    at_s = columns.seconds(row.get(columns.time))
    if at_s is None:
        return "unreadable_time"
    prompt, output = _count(row.get(columns.prompt_tokens)), _count(row.get(columns.output_tokens))
    if prompt is None or output is None:
        return "unreadable_tokens"
    if prompt == 0:
        return "no_prompt_tokens"
    if output == 0:
        return "no_output_tokens"
    session = row.get(columns.session)
    return Arrival(at_s, prompt, output, str(session) if session else None, _blocks(row.get(columns.blocks)))


def _count(value: Any) -> int | None:
    """Return a number of tokens, which some exports write as 12.0."""
    text = str(value).strip()
    return int(text.partition(".")[0]) if _COUNT.fullmatch(text) else None


def _blocks(value: Any) -> tuple[int, ...]:
    return tuple(block for block in value if isinstance(block, int)) if isinstance(value, list) else ()
