"""What a running vLLM server prints again and again: its statistics, and each request that it takes."""

from collections.abc import Sequence
from typing import Any

from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, read
from whichbits.serve.logs.vllm.wordings import CONSOLE

_STATISTICS = ("Avg prompt throughput", "Avg generation throughput", "Prefix cache hit rate")
_REQUESTS = ("Received request ", "Added request ", "Finished request ", "Aborted request ")
"""A request's line may hold its prompt, whose words are not the engine's."""

_PEAKS = {"prompt_tps": "peak_logged_prompt_tps", "generation_tps": "peak_logged_generation_tps"}
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
    readings = list(read(CONSOLE, console))
    for name, fact in _PEAKS.items():
        if said := [reading for reading in readings if reading.name == name]:
            peak = max(said, key=lambda reading: reading.value)
            sheet.put(fact, peak.value, peak.line)
    rates = [reading for reading in readings if reading.name == "prefix_hit_rate_percent"]
    if rates:
        sheet.put("last_prefix_hit_rate_percent", rates[-1].value, rates[-1].line)
