"""The table that ``vllm bench serve`` prints, and SGLang's under the same banner."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from whichbits.record.importers.bench_command import read_bench_settings

Facts = dict[str, Any]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Possessive, and begun where the row of signs does: a file of nothing but such signs is read in one go.
_BANNER = re.compile(r"(?<!=)=++ *+Serving Benchmark Result *+=++")
_RULE = re.compile(r"(?<!=)={40,}+[ \t\r]*+$", re.MULTILINE)

_WHOLE = frozenset(
    {
        "completed",
        "failed",
        "max_concurrency",
        "peak_concurrent",
        "input_tokens",
        "input_text_tokens",
        "input_vision_tokens",
        "output_tokens",
        "output_tokens_retokenized",
        "spec_decode_drafts",
        "spec_decode_draft_tokens",
        "spec_decode_accepted_tokens",
    }
)

_SETUP_ROWS = {
    "traffic request rate": "request_rate",
    "request rate configured (rps)": "request_rate",
    "burstiness factor": "burstiness",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
    "max reqeust concurrency": "max_concurrency",  # SGLang printed it so for a year, and like this before:
    "max reqeuest concurrency": "max_concurrency",
}
_RESULT_ROWS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "benchmark duration (s)": "duration_s",
    "total input tokens": "input_tokens",
    "total input text tokens": "input_text_tokens",
    "total input vision tokens": "input_vision_tokens",
    "total generated tokens": "output_tokens",
    "total generated tokens (retokenized)": "output_tokens_retokenized",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "input token throughput (tok/s)": "input_throughput",
    "output token throughput (tok/s)": "output_throughput",
    "peak output token throughput (tok/s)": "peak_output_throughput",
    "peak concurrent requests": "peak_concurrent",
    "total token throughput (tok/s)": "total_throughput",
    "concurrency": "mean_concurrency",
    "accept length": "accept_length",
    "rtfx (inverse real-time factor)": "rtfx",
    "acceptance rate (%)": "spec_decode_acceptance_rate_percent",
    "acceptance length": "spec_decode_acceptance_length",
    "drafts": "spec_decode_drafts",
    "draft tokens": "spec_decode_draft_tokens",
    "accepted tokens": "spec_decode_accepted_tokens",
}
_QUANTITIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "e2e latency": "e2e"}

# A value may stand on the next line where a narrow terminal wrapped the row, and be followed by a reader's remark.
# What goes on as a word, a date or a ratio is no number of this table.
_VALUE = r"[ \t]*(?:\r?\n[ \t]*)?(?P<value>[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w:/-]|\.\d)|(?:inf|none|not set)\b)"
_WORD = r"[ \t]*(?P<value>[a-z][\w.-]*)"
# A label may follow a log prefix, but not another word: "Max Concurrency" is not "Concurrency".
_LABEL_START = r"(?<!\w)(?-i:(?<![a-z_] ))"


def _row_pattern(labels: Iterable[str], value: str = _VALUE) -> re.Pattern[str]:
    longest_first = sorted(labels, key=len, reverse=True)
    alternatives = "|".join(re.escape(label).replace(r"\ ", r"\s+") for label in longest_first)
    return re.compile(rf"{_LABEL_START}(?P<label>{alternatives}):{value}", re.IGNORECASE)


_SETUP = _row_pattern(_SETUP_ROWS)
_RESULT = _row_pattern(_RESULT_ROWS)
_BACKEND = _row_pattern(["backend"], _WORD)
_STATISTIC = re.compile(
    r"(?<!\w)(?P<statistic>mean|median|std|min|max|p\d+(?:\.\d+)?)\s+"
    rf"(?P<quantity>ttft|tpot|itl|e2el|e2e\s+latency)\s+\(ms\):{_VALUE}",
    re.IGNORECASE,
)


class Table(NamedTuple):
    """The facts of one table, and for each the line that holds it."""

    facts: Facts
    lines: dict[str, str]


def read_bench_tables(text: str) -> list[Table]:
    """Return every table in ``text`` that holds a row, in order, each with the settings printed before it."""
    text = _ANSI.sub("", text)
    tables: list[Table] = []
    setup, *after_banners = _BANNER.split(text)
    for after in after_banners:
        body, *rest = _RULE.split(after, maxsplit=1)
        tables.append(_read_table(setup, body))
        setup = rest[0] if rest else ""
    return [table for table in tables if table.lines]


def _read_table(setup: str, body: str) -> Table:
    table = Table({}, {})
    for part, pattern, names in (
        (setup, _SETUP, _SETUP_ROWS),
        (body, _SETUP, _SETUP_ROWS),
        (body, _RESULT, _RESULT_ROWS),
        (body, _BACKEND, {"backend": "backend"}),
    ):
        for row in pattern.finditer(part):
            _add(table, names[_spaced_once(row["label"])], row)
    for row in _STATISTIC.finditer(body):
        _add(table, f"{row['statistic'].lower()}_{_QUANTITIES[_spaced_once(row['quantity'])]}_ms", row)
    return table._replace(facts=read_bench_settings(setup) | table.facts)


def _spaced_once(label: str) -> str:
    return " ".join(label.lower().split())


def _add(table: Table, name: str, row: re.Match[str]) -> None:
    table.facts[name] = _fact(name, row["value"])
    table.lines[name] = " ".join(row[0].split())


def _fact(name: str, printed: str) -> float | int | str | None:
    """Return the value of a row. Only a request rate may be unbounded; what is not set is None."""
    if name == "backend":
        return printed
    if printed.lower() in ("none", "not set"):
        return None
    if printed.lower() == "inf":
        return "inf" if name == "request_rate" else None
    number = float(printed)
    if not math.isfinite(number):
        return None
    return int(number) if name in _WHOLE else number
