"""What people expect before they measure, in one line a prediction.

``w4a16.tpot_median < w8a8.tpot_median at load 1``, ``fp16.tpot_median at load 10 < 1.1 * fp16.tpot_median at load 1``,
``fp16.tpot_median at load 1 in 50..60 ms``, ``fp16.ttft_p99 at load 8 < 500 ms``,
``w4a16/w8a8 tpot_median crosses in 10..100`` or ``… does not cross``.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

_STATISTICS = {"median": "p50", "mean": "mean", "p90": "p90", "p99": "p99"}
METRICS = {
    f"{time}_{name}": f"{time}_ms.{address}"
    for time in ("ttft", "tpot", "itl", "e2e")
    for name, address in _STATISTICS.items()
} | {
    "output_throughput": "output_tokens_per_s",
    "total_throughput": "total_tokens_per_s",
    "goodput": "goodput_requests_per_s",
    "mean_batch": "mean_batch",
    "prefix_hit_rate": "prefix_hit_rate",
}
"""Addresses in a cell of summary.json by the names that predictions use."""

_NAMES = {address: name for name, address in METRICS.items()}

_NUMBER = r"\d+(?:\.\d+)?"
_LOAD = r"(?:c?\d+|\d+(?:\.\d+)?/s(?: cap \d+)?)"
_VALUE = rf"(?:({_NUMBER}) ?[*x×] ?)?(\S+)\.(\w+)(?: at load ({_LOAD}))?"  # noqa: RUF001 - people write the sign
_COMPARISON = re.compile(rf"{_VALUE} ?([<>]) ?{_VALUE}")
_WITHIN = re.compile(rf"(\S+)\.(\w+) at load ({_LOAD}) in ({_NUMBER}) ?\.\. ?({_NUMBER})(?: ?(?:ms|%|tok(?:ens)?/s))?")
_BOUND = re.compile(rf"(\S+)\.(\w+) at load ({_LOAD}) ?([<>]) ?({_NUMBER})(?: ?(?:ms|%|tok(?:ens)?/s))?")
_CROSSING = re.compile(rf"([^\s/]+) ?/ ?([^\s/]+) (\w+) (?:crosses in ({_NUMBER}) ?\.\. ?({_NUMBER})|does not cross)")
_FORMS = (
    "ARM.METRIC < ARM.METRIC at load L",
    "ARM.METRIC at load L < NUMBER",
    "ARM.METRIC at load L in LOW..HIGH",
    "ARM/ARM METRIC crosses in LOW..HIGH",
    "ARM/ARM METRIC does not cross",
)


@dataclass(frozen=True)
class Quantity:
    """One metric of an arm at a load, times a factor; ``metric`` is its address, ``load`` as studies print it."""

    arm: str
    metric: str
    load: str
    factor: float = 1.0

    def __str__(self) -> str:
        """Return the quantity as predictions write it."""
        factor = "" if self.factor == 1 else f"{self.factor:g} x "
        return f"{factor}{self.arm}.{_NAMES[self.metric]} at {self.load}"


@dataclass(frozen=True)
class Less:
    """The first quantity is predicted to be the smaller one."""

    smaller: Quantity
    larger: Quantity


@dataclass(frozen=True)
class Within:
    """A quantity is predicted to lie between two values, in the metric's own unit; ``high`` may be infinite."""

    quantity: Quantity
    low: float
    high: float


@dataclass(frozen=True)
class Crosses:
    """Two arms are predicted to trade places between two loads, or (both None) not at all."""

    arms: tuple[str, str]
    metric: str
    low: float | None
    high: float | None


Prediction = Less | Within | Crosses


@dataclass(frozen=True)
class Names:
    """What a prediction may speak of: the study's arms, and its loads as they print themselves."""

    arms: Iterable[str]
    loads: Iterable[str]


def parse_prediction(text: str, names: Names) -> Prediction:
    """Read one prediction.

    Raises:
        ValueError: it has none of the forms, or names an arm, metric or load that is not there; with a suggestion.
    """
    words = " ".join(text.split())
    if found := _BOUND.fullmatch(words):
        return _bound(found, names)
    if found := _COMPARISON.fullmatch(words):
        return _comparison(found, names)
    if found := _WITHIN.fullmatch(words):
        arm, metric, load, low, high = found.groups()
        return Within(_quantity((None, arm, metric, load), names), *_range(low, high))
    if found := _CROSSING.fullmatch(words):
        first, second, metric, low, high = found.groups()
        arms = (_one_of("arm", first, names.arms), _one_of("arm", second, names.arms))
        bounds = (None, None) if low is None else _range(low, high)
        return Crosses(arms, METRICS[_one_of("metric", metric, METRICS)], *bounds)
    message = f"'{text}' has none of the forms of a prediction: {'; '.join(_FORMS)}"
    raise ValueError(message)


def _bound(found: re.Match[str], names: Names) -> Within:
    arm, metric, load, sign, bound = found.groups()
    ends = (0.0, float(bound)) if sign == "<" else (float(bound), math.inf)
    return Within(_quantity((None, arm, metric, load), names), *ends)


def _comparison(found: re.Match[str], names: Names) -> Less:
    left, sign, right = found.groups()[:4], found[5], found.groups()[5:]
    if left[3] is None and right[3] is None:
        message = "a comparison needs 'at load L' at its end, or on both sides"
        raise ValueError(message)
    # A load at the end holds for both sides.
    first = _quantity((*left[:3], left[3] or right[3]), names)
    second = _quantity((*right[:3], right[3] or left[3]), names)
    return Less(first, second) if sign == "<" else Less(second, first)


def _quantity(parts: tuple[str | None, ...], names: Names) -> Quantity:
    factor, arm, metric, load = parts
    return Quantity(
        arm=_one_of("arm", arm or "", names.arms),
        metric=METRICS[_one_of("metric", metric or "", METRICS)],
        load=_one_of("load", _as_printed(load or ""), names.loads),
        factor=float(factor or 1),
    )


def _as_printed(load: str) -> str:
    return f"c{load}" if load.isdigit() else load


def _one_of(kind: str, name: str, known: Iterable[str]) -> str:
    choices = list(known)
    if name in choices:
        return name
    close = get_close_matches(name, choices, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(choices) or 'none'}"
    message = f"there is no {kind} '{name}'; {hint}"
    raise ValueError(message)


def _range(low: str, high: str) -> tuple[float, float]:
    if float(low) > float(high):
        message = f"the range {low}..{high} ends before it begins"
        raise ValueError(message)
    return float(low), float(high)
