"""Metric families, and the text that Prometheus scrapes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from whichbits.serve.metrics.text import escaped

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One line: ``suffix`` is what a histogram's lines add to the name of their family."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True)
class Family:
    """All lines of one name; name and kind follow Prometheus's conventions: base units, ``_total`` for counters."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    meaning: str
    samples: Sequence[Sample]


def text(families: Iterable[Family]) -> str:
    """Return the families in the text form; one without samples is left out.

    Source: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
    """
    return "".join(f"{line}\n" for family in families if family.samples for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.meaning}"
    yield f"# TYPE {family.name} {family.kind}"
    for sample in family.samples:
        labels = ",".join(f'{name}="{escaped(value)}"' for name, value in sample.labels.items())
        yield f"{family.name}{sample.suffix}{{{labels}}} {sample.value:.17g}"
