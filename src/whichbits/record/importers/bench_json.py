"""Result files of ``vllm bench serve`` (and of SGLang's benchmark, which descends from it), in all their versions."""

import re
from typing import Any

from whichbits.record.json_records import read_json_records

Facts = dict[str, Any]

_RENAMED = {
    "duration": "duration_s",
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "total_output_tokens_retokenized": "output_tokens_retokenized",
    "total_token_throughput": "total_throughput",
    "concurrency": "mean_concurrency",
    # 0.8 wrote the colon of the table's label into the key.
    "request_goodput:": "request_goodput",
}

_NUMBERS = frozenset(
    {
        "duration_s",
        "completed",
        "failed",
        "num_prompts",
        "burstiness",
        "max_concurrency",
        "max_concurrent_requests",
        "mean_concurrency",
        "max_output_tokens_per_s",
        "input_tokens",
        "output_tokens",
        "output_tokens_retokenized",
        "request_throughput",
        "request_goodput",
        "input_throughput",
        "output_throughput",
        "total_throughput",
        "accept_length",
        "rtfx",
        "best_of",
        "ramp_up_start_rps",
        "ramp_up_end_rps",
    }
)
_NUMBER_FAMILIES = ("spec_decode_", "diffusion_", "probe_")
_TEXTS = frozenset({"date", "label", "model_id", "tokenizer_id", "endpoint_type", "backend", "ramp_up_strategy"})

_STATISTIC = re.compile(r"(?P<statistic>mean|median|std|min|max|p\d+(?:\.\d+)?)_(?P<quantity>[a-z0-9_]+)_ms")
_QUANTITIES = {"e2el": "e2e", "e2e_latency": "e2e"}

# No count, time or rate is as large; what is, is infinite or a mistake.
_NO_MEASUREMENT = 1e18

# What every version since the first has written, and what together nothing else writes.
_SIGNATURE = frozenset({"duration", "completed", "request_throughput"})


def read_bench_json(text: str) -> list[Facts]:
    """Return the facts of every result in ``text``, in order; empty if it is no such file.

    ``--append-result`` adds one object a line to a file that is still called .json.
    """
    if '"request_throughput"' not in text:
        return []  # spares large files of other kinds a reading as JSON
    records = read_json_records(text).values
    if not all(isinstance(record, dict) and record.keys() >= _SIGNATURE for record in records):
        return []
    return [_facts(record) for record in records]


def _facts(record: dict[str, Any]) -> Facts:
    facts: Facts = {}
    metadata: Facts = {}
    for key, value in record.items():
        name = _fact_name(key)
        if name is not None:
            facts.setdefault(name, _value(name, value))
        elif isinstance(value, str | int | float):
            metadata[key] = value
    facts["detailed"] = isinstance(record.get("ttfts"), list)
    _add_backend(facts)
    _add_failed(facts, record.get("errors"))
    return facts | ({"metadata": metadata} if metadata else {})


def _fact_name(key: str) -> str | None:
    """Return the fact that ``key`` holds, or None for what a user added with ``--metadata``."""
    name = _RENAMED.get(key, key)
    if name in _NUMBERS or name in _TEXTS or name == "request_rate" or name.startswith(_NUMBER_FAMILIES):
        return name
    statistic = _STATISTIC.fullmatch(name)
    if statistic is None:
        return None
    quantity = statistic["quantity"]
    return f"{statistic['statistic']}_{_QUANTITIES.get(quantity, quantity)}_ms"


def _value(name: str, value: Any) -> Any:
    """Return ``value`` if it is what ``name`` can hold, else None. Only a request rate may be unbounded."""
    if name in _TEXTS:
        return value if isinstance(value, str) else None
    if name == "request_rate" and isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < _NO_MEASUREMENT else None


def _add_backend(facts: Facts) -> None:
    """Before 0.11 the backend was called the type of the endpoint."""
    if facts.get("backend") is None and facts.get("endpoint_type") is not None:
        facts["backend"] = facts["endpoint_type"]


def _add_failed(facts: Facts, errors: Any) -> None:
    """Before 0.15 only the detailed list of errors, empty text for a success, tells how many failed."""
    if facts.get("failed") is None and isinstance(errors, list):
        facts["failed"] = sum(bool(error) for error in errors)
