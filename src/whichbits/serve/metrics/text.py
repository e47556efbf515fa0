"""Prometheus text to samples, and how a label's value is written in it."""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

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


def escaped(value: str) -> str:
    """Return a label's value as it stands between quotes.

    Source: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
    """
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def total(samples: Iterable[Sample], name: str, **labels: str) -> float | None:
    """Sum a metric over label sets that agree with ``labels``. None if there are none, or none finite."""
    values = _values(samples, name, labels)
    return math.fsum(values) if values else None


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
