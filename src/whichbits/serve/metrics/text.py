"""Prometheus text to samples, and how a label's value is written in it."""

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

# Possessive quantifiers: a broken line fails at once instead of being tried in every split.
_SAMPLE = re.compile(
    r"""^[ \t]*+
    (?P<name> [a-zA-Z_:][\w:]*+) [ \t]*+
    (?: \{ (?P<labels> (?: [^"}\n] | "(?:[^"\\\n]|\\.)*+" )*+ ) \} )?+ [ \t]*+
    (?<=[\s}]) (?P<value> [-+.\w]++)
    (?: [ \t]++ -?\d++ )?+                                    # milliseconds; nobody sends them here
    [ \t\r]*+ $""",
    re.VERBOSE | re.ASCII,
)
_SERIES = re.compile(
    r'[ \t]*+([a-zA-Z_:][\w:]*+)[ \t]*+(?:\{((?:[^"}\n]|"(?:[^"\\\n]|\\.)*+")*+)\})?+[ \t]*+', re.ASCII
)
_VALUE = re.compile(r"[-+.\w]++[ \t\r]*+", re.ASCII)
_LABEL = re.compile(r'([a-zA-Z_]\w*+)\s*+=\s*+"((?:[^"\\]|\\.)*+)"', re.ASCII)
_ESCAPE = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """One line of a scrape."""

    name: str
    labels: dict[str, str]
    value: float


def parse(text: str) -> list[Sample]:
    """Read every sample line, in order; comments and lines that are not in the format are passed over."""
    found = (_sample(line) for line in text.split("\n") if not line.startswith("#"))
    return [sample for sample in found if sample is not None]


def _sample(line: str) -> Sample | None:
    """Read a line; a run's scrapes show the same series again and again, so that only their values are read anew."""
    head, _, told = line.rpartition(" ")
    series = _series(head) if head and _VALUE.fullmatch(told) else None
    if series is None:  # a timestamp, a tab, or no sample at all
        return _unusual(line)
    try:
        return Sample(series[0], dict(series[1]), float(told))
    except ValueError:
        return None


def _unusual(line: str) -> Sample | None:
    found = _SAMPLE.fullmatch(line)
    try:
        return Sample(found["name"], _labels(found["labels"]), float(found["value"])) if found else None
    except ValueError:
        return None


@lru_cache(maxsize=8192)
def _series(head: str) -> tuple[str, dict[str, str]] | None:
    found = _SERIES.fullmatch(head)
    return (found[1], _labels(found[2])) if found else None


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
