"""One engine's part of a scrape: its series without prefix, and what its HELP lines say."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from whichbits.serve.metrics.names import ENGINES, Engine, Prefix, Quantity, names
from whichbits.serve.metrics.text import Sample, parse

_ENGINE_LABELS = ("engine", "dp_rank")
"""vLLM and SGLang name an engine core behind one server so; each counts for itself."""


@dataclass(frozen=True)
class Exposition:
    """What one engine shows in a scrape; a series that occurs twice (pasted scrapes) has its last value."""

    engine: Engine
    series: tuple[Sample, ...]
    help: Mapping[str, str]
    names: frozenset[str]
    """Every stem that is declared or has a sample."""

    @classmethod
    def of(cls, text: str, prefix: Prefix) -> Self:
        """Read the series under ``prefix``; none if the text has none."""
        last: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
        for name, labels, value in parse(text):
            if name.startswith(prefix):
                bare = name[len(prefix) :]
                last[bare, frozenset(labels.items())] = Sample(bare, labels, value)
        told = re.findall(rf"^\s*# ?HELP {re.escape(prefix)}(\S+) ?(.*)$", text, re.MULTILINE)
        declared = re.findall(rf"^\s*# ?TYPE {re.escape(prefix)}(\S+) ", text, re.MULTILINE)
        stems = {sample.name for sample in last.values()}.union((name for name, _ in told), declared)
        series = _one_rank(last.values()) if "_rank" in text else last.values()
        return cls(ENGINES[prefix], tuple(series), dict(told), frozenset(stems))

    @cached_property
    def _by_name(self) -> dict[str, list[Sample]]:
        found: dict[str, list[Sample]] = {}
        for sample in self.series:
            found.setdefault(sample.name, []).append(sample)
        return found

    @cached_property
    def _labels(self) -> list[str]:
        return [engine_label(sample) for sample in self.series]

    @property
    def labels(self) -> tuple[str, ...]:
        """The engine cores that count apart, by their label; one "" where nothing tells them apart."""
        found = set(self._labels) - {""}
        return tuple(sorted(found)) or ("",)

    def of_label(self, label: str) -> Self:
        """Return what one engine core counts; series without such a label belong to nobody alone."""
        if label == "":
            return self
        if self._labels.count(label) == len(self.series):
            return self
        mine = tuple(sample for sample, own in zip(self.series, self._labels, strict=True) if own == label)
        return type(self)(self.engine, mine, self.help, self.names)

    def named(self, quantity: Quantity) -> tuple[str, list[float]] | None:
        """Return the first spelling of a quantity that has finite samples, with their values."""
        for name in names(self.engine, quantity):
            where = {} if name.label is None else dict([name.label])
            for spelling in (f"{name.stem}_total", name.stem):
                if spelling in self._by_name and (found := self.values(spelling, **where)):
                    return spelling, found
        return None

    def total(self, quantity: Quantity) -> float | None:
        """Sum a quantity over its series; None if there are none."""
        found = self.named(quantity)
        return math.fsum(found[1]) if found else None

    def mean(self, quantity: Quantity) -> float | None:
        """Average a share over engine cores."""
        found = self.named(quantity)
        return math.fsum(found[1]) / len(found[1]) if found else None

    def values(self, name: str, **labels: str) -> list[float]:
        """Return the finite values of the series that agree with ``labels``."""
        found = self._by_name.get(name, ())
        if labels:
            found = [sample for sample in found if labels.items() <= sample.labels.items()]
        return [sample.value for sample in found if math.isfinite(sample.value)]

    def samples(self, name: str) -> Sequence[Sample]:
        """Return the series of one name."""
        return self._by_name.get(name, ())

    def infos(self, name: str) -> list[dict[str, str]]:
        """Return the labels of every series of an info metric."""
        return [sample.labels for sample in self._by_name.get(name, ())]

    def unit_of(self, *quantities: Quantity) -> str | None:
        """Return "tokens" or "blocks" as the HELP of what is counted says, or as the name has always meant."""
        counted = [found[0] for quantity in quantities if (found := self.named(quantity))]
        told = (re.search(r"\b(tokens|blocks)\b", self.help.get(name, "")) for name in counted)
        said = next((unit[1] for unit in told if unit), None)
        return said or ("tokens" if counted and not self._as_help_says(counted[0], quantities) else None)

    def _as_help_says(self, spelling: str, quantities: tuple[Quantity, ...]) -> bool:
        known = [name for quantity in quantities for name in names(self.engine, quantity)]
        return any(name.unit == "as HELP says" for name in known if name.stem == spelling.removesuffix("_total"))


def read_exposition(text: str, prefix: Prefix | None = None) -> Exposition | None:
    """Read what is under ``prefix``, or under the first known one; None if there is nothing."""
    for candidate in ENGINES if prefix is None else (prefix,):
        if candidate in text:
            found = Exposition.of(text, candidate)
            if found.names:
                return found
    return None


def engine_label(sample: Sample) -> str:
    """Return the label of the engine core that counted a sample; "" if it has none."""
    for label in _ENGINE_LABELS:
        if label in sample.labels:
            return sample.labels[label]
    return ""


def _one_rank(series: Iterable[Sample]) -> list[Sample]:
    """Keep one of the series that differ in the rank only: each rank of an SGLang server counts the same."""
    kept: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
    for sample in series:
        who = frozenset((label, value) for label, value in sample.labels.items() if not label.endswith("_rank"))
        dp_rank = frozenset({("dp_rank", sample.labels["dp_rank"])} if "dp_rank" in sample.labels else ())
        kept.setdefault((sample.name, who | dp_rank), sample)
    return list(kept.values())
