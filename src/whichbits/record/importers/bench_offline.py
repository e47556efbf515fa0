"""Results of ``vllm bench throughput`` and ``vllm bench latency``, which ask the engine without a server."""

import re
from typing import Any

from whichbits.record.json_records import read_json_records

Facts = dict[str, Any]

_THROUGHPUT = {
    "elapsed_time": "duration_s",
    "num_requests": "num_prompts",
    "requests_per_second": "request_throughput",
    "tokens_per_second": "total_throughput",
    "total_num_tokens": "total_tokens",
}
_LATENCY = frozenset({"avg_latency", "latencies", "percentiles"})

_NUMBER = r"\d+(?:\.\d+)?"
_RATES = re.compile(
    rf"^.{{0,200}}?Throughput: (?P<request_throughput>{_NUMBER}) requests/s, (?P<total_throughput>{_NUMBER}) "
    rf"(?:total )?tokens/s(?:, (?P<output_throughput>{_NUMBER}) output tokens/s)?",
    re.MULTILINE,
)
_TOTAL = re.compile(r"^.{0,200}?Total num (?P<which>prompt|output) tokens: +(?P<count>\d+)", re.MULTILINE)
_AVERAGE = re.compile(rf"^.{{0,200}}?Avg latency: (?P<mean>{_NUMBER}) seconds", re.MULTILINE)
_PERCENTILE = re.compile(
    r"^.{0,200}?(?P<rank>\d{1,2})% percentile latency: (?P<seconds>\d+(?:\.\d+)?) seconds", re.MULTILINE
)
_MARKS = ("Throughput: ", "Avg latency: ")
_TOTALS = {"prompt": "input_tokens", "output": "output_tokens"}


def read_offline_json(text: str) -> Facts | None:
    """Return the facts of a result file, or None if it is none. A latency is that of a whole batch, in ms."""
    if '"elapsed_time"' not in text and '"avg_latency"' not in text:
        return None
    records = read_json_records(text).values
    if len(records) != 1 or not isinstance(records[0], dict):
        return None
    (record,) = records
    if record.keys() >= _THROUGHPUT.keys():
        return {fact: record[key] for key, fact in _THROUGHPUT.items() if _is_number(record[key])}
    return _latency(record) if record.keys() >= _LATENCY else None


def read_offline_text(text: str) -> tuple[Facts, dict[str, str]] | None:
    """Return what the tools printed, each with its line, or None."""
    if not any(mark in text for mark in _MARKS):
        return None  # spares long logs the search
    facts: Facts = {}
    lines: dict[str, str] = {}
    found = [(name, float(value), match) for match in _RATES.finditer(text) for name, value in _named(match)]
    found += [(_TOTALS[match["which"]], int(match["count"]), match) for match in _TOTAL.finditer(text)]
    found += [("mean_e2e_ms", _milliseconds(match["mean"]), match) for match in _AVERAGE.finditer(text)]
    found += [
        (_percentile_name(match["rank"]), _milliseconds(match["seconds"]), match)
        for match in _PERCENTILE.finditer(text)
    ]
    for name, value, match in found:
        facts[name], lines[name] = value, match[0].strip()
    return (facts, lines) if {"request_throughput", "mean_e2e_ms"} & facts.keys() else None


def _named(match: re.Match[str]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in match.groupdict().items() if value is not None]


def _latency(record: Facts) -> Facts:
    facts: Facts = {}
    if _is_number(record["avg_latency"]):
        facts["mean_e2e_ms"] = _milliseconds(record["avg_latency"])
    percentiles = record["percentiles"]
    for rank, seconds in percentiles.items() if isinstance(percentiles, dict) else ():
        if rank.isdecimal() and _is_number(seconds):
            facts[_percentile_name(rank)] = _milliseconds(seconds)
    return facts


def _percentile_name(rank: str) -> str:
    return "median_e2e_ms" if rank == "50" else f"p{rank}_e2e_ms"


def _milliseconds(seconds: float | str) -> float:
    return round(float(seconds) * 1000, 6)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
