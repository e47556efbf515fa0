"""What a running vLLM server prints again and again: its statistics, and each request that it takes."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, Wording, search
from whichbits.serve.logs.vllm.wordings import CONSOLE, LOAD

_STATISTICS = ("Avg prompt throughput", "Avg generation throughput", "Prefix cache hit rate")
_REQUESTS = ("Received request ", "Added request ", "Finished request ", "Aborted request ")
"""A request's line may hold its prompt, whose words are not the engine's."""

_FACTS = ("peak_logged_prompt_tps", "peak_logged_generation_tps", "last_prefix_hit_rate_percent")
_FULL_PERCENT = 95
_NAME_LENGTH = len("Engine 000: ")


def apart(lines: Sequence[LogLine]) -> tuple[list[LogLine], list[LogLine]]:
    """Return the statistics, and what tells of the engine itself; of the statistics the first line of each engine."""
    console: list[LogLine] = []
    others: list[LogLine] = []
    heard: set[Any] = set()
    for line in lines:
        if any(mark in line.text for mark in _STATISTICS):
            console.append(line)
            speaker = (line.writers, line.text[:_NAME_LENGTH])
            if speaker in heard:
                continue
            heard.add(speaker)
        if not line.text.startswith(_REQUESTS):
            others.append(line)
    return console, others


def put_console(sheet: FactSheet, console: Sequence[LogLine]) -> None:
    """Put the greatest rates, and the last share of cache hits."""
    rates = {name: [*_rates(known, console)] for name, known in zip(_FACTS, CONSOLE, strict=True)}
    for name, said in rates.items():
        if said:
            rate, line = said[-1] if name.startswith("last") else max(said, key=lambda found: found[0])
            sheet.put(name, rate, line)


def kv_cache_is_full(console: Sequence[LogLine]) -> LogLine | None:
    """Return the first line that says that requests wait while hardly a KV block is free."""
    for line in console:
        found = search(LOAD, line)
        if found and int(found["waiting"]) and float(found["usage"]) >= _FULL_PERCENT:
            return line
    return None


def _rates(known: Wording, console: Sequence[LogLine]) -> Iterator[tuple[float, LogLine]]:
    """Yield the one number of each line; a server's log holds tens of thousands of them."""
    for line in console:
        wrapped = bool(line.continuation) or line.cut
        found = search(known, line) if wrapped else known.mark in line.text and known.pattern.search(line.text)
        if found:
            with contextlib.suppress(ValueError):
                yield float(found[1]), line
