"""What the embedded engine says of itself: log lines that carry facts, written and read in one place.

A fact line is ``INFO 18:04:11 [embedded] topic key=value key=value``, its values JSON. What the pipeline
was compiled with is not repeated by us: OpenVINO's own dump of the compiled model is in the log.
"""

import json
import re
import sys
import time
from collections.abc import Iterator

from whichbits.record.schema import Fact

Value = str | int | float | bool | None

_SOURCE = "server log"
_FACT_LINE = re.compile(r"^INFO \d\d:\d\d:\d\d \[embedded\] (?P<topic>[\w -]+?) (?P<pairs>\w+=.*)$")
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
_COMPILED = "Model: LLM with Paged Attention"
_COMPILED_KEYS = {
    "INFERENCE_PRECISION_HINT": "dtype",
    "KV_CACHE_PRECISION": "kv_cache_dtype",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": "activation_quantization_group_size",
    "INFERENCE_NUM_THREADS": "threads",
}
FACTS = (
    "engine_version",
    "device_name",
    "device_capabilities",
    "model_memory_gib",
    "model_load_seconds",
    "init_engine_seconds",
    "kv_cache_tokens",
    "kv_cache_memory_gib",
    "dtype",
    "kv_cache_dtype",
    "quantization",
    "activation_quantization_group_size",
    "activation_quantization_effective",
    "quant_kernels",
    "enable_prefix_caching",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "threads",
)


def announce(topic: str, **facts: Value) -> None:
    """Print one fact line; ``topic`` is words for people."""
    pairs = " ".join(f"{key}={json.dumps(value)}" for key, value in facts.items())
    say("INFO", f"{topic} {pairs}".rstrip())


def say(level: str, text: str) -> None:
    """Print one log line, at once, so that it keeps its place among OpenVINO's."""
    sys.stdout.write(f"{level} {time.strftime('%H:%M:%S')} [embedded] {text}\n")
    sys.stdout.flush()


def read_facts(log_text: str) -> dict[str, Fact]:
    """Return every fact of a log, each with its line; what the log does not say is there with the value None."""
    found = {name: Fact(None, _SOURCE) for name in FACTS}
    found |= dict(_announced(log_text))
    return found | dict(_compiled(log_text))


def read_failure(log_text: str) -> str | None:
    """Return the first line that says why the server ended; None if it does not say."""
    first = re.search(r"^ERROR \d\d:\d\d:\d\d \[embedded\] (.*)$", log_text, re.MULTILINE)
    return None if first is None else first[1]


def _announced(log_text: str) -> Iterator[tuple[str, Fact]]:
    for line in log_text.splitlines():
        matched = _FACT_LINE.match(line)
        if matched:
            for key, value in _PAIR.findall(matched["pairs"]):
                yield key, Fact(json.loads(value), _SOURCE, line)


def _compiled(log_text: str) -> Iterator[tuple[str, Fact]]:
    # The first dump of a first start is of the conversion from GGUF; the server's own is the last.
    _, _, dump = log_text.rpartition(_COMPILED)
    for line in dump.splitlines()[1:]:
        key, separator, value = line.partition(":")
        if not line.startswith("  ") or not separator:
            return
        key, value = key.strip(), value.strip()
        if key in _COMPILED_KEYS:
            yield _COMPILED_KEYS[key], Fact(int(value) if value.isdigit() else value, _SOURCE, line.strip())
