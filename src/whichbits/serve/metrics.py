"""Prometheus text to samples, and samples to the few counters that every engine has."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Prefix = Literal["embedded:", "vllm:"]

# Possessive quantifiers: a broken line fails at once instead of being tried in every split.
_SAMPLE = re.compile(
    r"""^[ \t]*+
    (?P<name> [a-zA-Z_:][\w:]*+) [ \t]*+
    (?: \{ (?P<labels> (?: [^"}\n] | "(?:[^"\\\n]|\\.)*+" )*+ ) \} )?+ [ \t]*+
    (?<=[\s}]) (?P<value> [-+.\w]++)
    (?: [ \t]++ -?\d++ )?+                                    # milliseconds; nobody sends them here
    [ \t\r]*+ $""",
    re.VERBOSE | re.MULTILINE | re.ASCII,
)
_LABEL = re.compile(r'([a-zA-Z_]\w*+)\s*+=\s*+"((?:[^"\\]|\\.)*+)"', re.ASCII)
_ESCAPE = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """One line of a scrape."""

    name: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class EngineCounters:
    """What an engine counted since it started, summed over its labels; None where it does not say.

    ``prompt_tokens`` includes the cached ones. ``requests_running`` and ``kv_cache_usage`` (a share, 0 to 1,
    averaged over the engine cores of one server) are states, the others only grow.
    """

    prompt_tokens: int | None
    cached_prompt_tokens: int | None
    generation_tokens: int | None
    requests_finished: int | None
    requests_running: int | None
    kv_cache_usage: float | None
    preemptions: int | None


def parse(text: str) -> list[Sample]:
    """Read every sample line, in order; comments and lines that are not in the format are passed over."""
    samples = []
    for line in _SAMPLE.finditer(text):
        try:
            value = float(line["value"])
        except ValueError:
            continue
        samples.append(Sample(line["name"], _labels(line["labels"]), value))
    return samples


def total(samples: Iterable[Sample], name: str, **labels: str) -> float | None:
    """Sum a metric over label sets that agree with ``labels``. None if there are none, or none finite."""
    values = _values(samples, name, labels)
    return math.fsum(values) if values else None


def read_counters(text: str, prefix: Prefix) -> EngineCounters:
    """Pick an engine's counters out of a scrape. Names are those of vLLM from 0.12 on; others yield None."""
    samples = [sample for sample in parse(text) if sample.name.startswith(prefix)]

    def count(stem: str) -> int | None:
        value = total(samples, prefix + stem)
        return None if value is None else round(value)

    usages = _values(samples, f"{prefix}kv_cache_usage_perc", {})
    return EngineCounters(
        prompt_tokens=count("prompt_tokens_total"),
        cached_prompt_tokens=count("prefix_cache_hits_total"),
        generation_tokens=count("generation_tokens_total"),
        requests_finished=count("request_success_total"),
        requests_running=count("num_requests_running"),
        kv_cache_usage=math.fsum(usages) / len(usages) if usages else None,
        preemptions=count("num_preemptions_total"),
    )


def difference(before: EngineCounters, after: EngineCounters) -> EngineCounters:
    """Return what was counted between two scrapes, and the states of the second.

    None where either scrape has none, and where a counter fell: the engine was restarted in between.
    """
    return EngineCounters(
        prompt_tokens=_growth(before.prompt_tokens, after.prompt_tokens),
        cached_prompt_tokens=_growth(before.cached_prompt_tokens, after.cached_prompt_tokens),
        generation_tokens=_growth(before.generation_tokens, after.generation_tokens),
        requests_finished=_growth(before.requests_finished, after.requests_finished),
        requests_running=after.requests_running,
        kv_cache_usage=after.kv_cache_usage,
        preemptions=_growth(before.preemptions, after.preemptions),
    )


def _growth(before: int | None, after: int | None) -> int | None:
    if before is None or after is None or after < before:
        return None
    return after - before


def _values(samples: Iterable[Sample], name: str, labels: dict[str, str]) -> list[float]:
    return [
        sample.value
        for sample in samples
        if sample.name == name and labels.items() <= sample.labels.items() and math.isfinite(sample.value)
    ]


def _labels(text: str | None) -> dict[str, str]:
    if not text:
        return {}
    return {name: _unescaped(value) if "\\" in value else value for name, value in _LABEL.findall(text)}


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda match: {"n": "\n"}.get(match[1], match[1]), value)
