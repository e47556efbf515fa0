"""A metric over load, arm by arm, from the cells that can be trusted to say which arm is better."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whichbits.analyze.curves.meaning import meaning
from whichbits.analyze.curves.unequal_repeats import levels
from whichbits.analyze.summary import CellSummary, Crossing, Crossover, Distribution, Metric
from whichbits.language.phrase import Phrase, phrase
from whichbits.record.timelines import Floats

MARGIN = 0.03
"""Arms within this ratio of each other are taken as equal, in either direction."""

FAILED_SHARE = 0.01
"""Beyond this share of failures the survivors' p99 no longer says what users feel, and work is not equal."""


@dataclass(frozen=True)
class Measured:
    """How a compared metric is called, and whether less of it is better."""

    name: Phrase
    lower_is_better: bool


METRICS: dict[Metric, Measured] = {
    "tpot_ms.p50": Measured(phrase("median TPOT"), lower_is_better=True),
    "tpot_ms.mean": Measured(phrase("mean TPOT"), lower_is_better=True),
    "tpot_ms.p90": Measured(phrase("p90 TPOT"), lower_is_better=True),
    "tpot_ms.p99": Measured(phrase("p99 TPOT"), lower_is_better=True),
    "itl_ms.p50": Measured(phrase("median ITL"), lower_is_better=True),
    "itl_ms.p99": Measured(phrase("p99 ITL"), lower_is_better=True),
    "ttft_ms.p50": Measured(phrase("median TTFT"), lower_is_better=True),
    "ttft_ms.p90": Measured(phrase("p90 TTFT"), lower_is_better=True),
    "ttft_ms.p99": Measured(phrase("p99 TTFT"), lower_is_better=True),
    "e2e_ms.p50": Measured(phrase("median E2E"), lower_is_better=True),
    "e2e_ms.p99": Measured(phrase("p99 E2E"), lower_is_better=True),
    "output_tokens_per_s": Measured(phrase("output throughput"), lower_is_better=False),
    "goodput_requests_per_s": Measured(phrase("goodput"), lower_is_better=False),
    "cost_per_million_tokens": Measured(phrase("cost per million output tokens"), lower_is_better=True),
}

HEADLINES: tuple[Metric, ...] = (
    "tpot_ms.p50",
    "tpot_ms.p99",
    "ttft_ms.p50",
    "output_tokens_per_s",
    "goodput_requests_per_s",
    "cost_per_million_tokens",
)
"""The metrics for which an answer is given; the others are compared, too."""

HALF_A_REQUEST = 0.5

TAILS = ("p90", "p99")
"""Percentiles that are not compared where thin: there a handful of requests would decide between arms."""

Curve = dict[tuple[float, int], float]
"""ln(value) by (load, repeat)."""


AxisUnit = Literal["concurrency", "request_rate"]


def load_unit(cells: Iterable[CellSummary]) -> AxisUnit:
    """Return what the load axis counts: request rates if every cell has one, else concurrency."""
    rates = [cell.request_rate for cell in cells]
    return "request_rate" if rates and None not in rates else "concurrency"


def load_of(cell: CellSummary, unit: AxisUnit) -> float | None:
    """Return where a cell lies on the axis; a capped rate among concurrencies has no place on it."""
    if unit == "request_rate":
        return cell.request_rate
    return cell.concurrency if cell.request_rate is None else None


def load_words(load: float | None) -> str:
    """Return a load as people say it; more than two digits would claim more than interpolation knows."""
    if load is None:
        return phrase("every load")
    return f"{load:.1f}" if load < 10 and load != round(load) else f"{load:.0f}"


def unit_behind(load: str, unit: AxisUnit) -> Phrase:
    """Return the unit that stands behind a load of ``load_words``, its space included: one request is no requests."""
    if unit == "request_rate":
        return phrase(" requests/s")
    return phrase(" concurrent request") if load == "1" else phrase(" concurrent requests")


def range_words(interval: tuple[float, float]) -> str:
    """Return an interval of load as people say it: ``9.5 to 16``."""
    return phrase("{interval} to {interval_2}", interval=load_words(interval[0]), interval_2=load_words(interval[1]))


def crossing_words(crossover: Crossover, crossing: Crossing) -> str:
    """Return the load of a crossing with its interval, or that it may be any of those compared."""
    if not crossover.is_placed(crossing):
        return phrase("a load not placed within {loads}", loads=range_words((crossover.loads[0], crossover.loads[-1])))
    if crossing.low is None or crossing.high is None:
        return load_words(crossing.load)
    return phrase(
        "{load} ({range_words})", load=load_words(crossing.load), range_words=range_words((crossing.low, crossing.high))
    )


def why_unusable(cell: CellSummary) -> str | None:
    """Say why a cell must not decide between arms, or None if it may."""
    if cell.state != "done":
        return cell.state
    if cell.client_verdict == "client_limited":
        return phrase("client limited")
    if cell.failed > FAILED_SHARE * cell.requests:
        return phrase("failed requests")
    return None


def value_of(cell: CellSummary, metric: Metric) -> float | None:
    """Return the metric at its address in summary.json."""
    holder, _, percentile = metric.partition(".")
    found = getattr(cell, holder, None)
    value: float | None = getattr(found, percentile) if percentile else found
    return value


def is_thin(cell: CellSummary, metric: Metric) -> bool:
    """Say whether the metric is a percentile with fewer than ten samples beyond it."""
    holder, _, percentile = metric.partition(".")
    found = getattr(cell, holder, None)
    return isinstance(found, Distribution) and found.n > 0 and percentile in found.thin


def has_no_goodput(cell: CellSummary, metric: Metric) -> bool:
    """Say whether goodput is asked for and not a single request was good."""
    return metric == "goodput_requests_per_s" and cell.goodput_requests_per_s == 0


def comparable(cell: CellSummary, metric: Metric) -> float | None:
    """Return the value by which a cell may be compared: above zero, of a usable cell, and no thin tail.

    No good request at all counts as half a one, so that the arm that still has some can be seen to lead.
    """
    value = value_of(cell, metric)
    if has_no_goodput(cell, metric) and cell.duration_s:
        value = HALF_A_REQUEST / cell.duration_s
    if value is None or value <= 0 or why_unusable(cell) is not None:
        return None
    return None if metric.endswith(TAILS) and is_thin(cell, metric) else value


def curves(cells: Iterable[CellSummary], metric: Metric, unit: AxisUnit) -> dict[str, Curve]:
    """Return each arm's curve over the cells that may be compared; none if they do not mean the same by the metric."""
    found: dict[str, Curve] = defaultdict(dict)
    telling = set()
    meanings = set()
    for cell in cells:
        meanings.add(meaning(cell, metric.partition(".")[0]))
        load, value = load_of(cell, unit), comparable(cell, metric)
        if load is not None and value is not None:
            found[cell.arm][load, cell.repeat] = math.log(value)
            telling |= set() if has_no_goodput(cell, metric) else {(load, cell.repeat)}
    if len(meanings) > 1:
        return {}
    return {arm: {place: log for place, log in curve.items() if place in telling} for arm, curve in found.items()}


def by_load(curve: Curve) -> dict[float, dict[int, float]]:
    """Return ln(value) by repeat, for each load."""
    found: dict[float, dict[int, float]] = defaultdict(dict)
    for (load, repeat), log in curve.items():
        found[load][repeat] = log
    return dict(found)


def paired(chosen: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Return the loads at which all curves can be compared, and per curve ln(value) there: shapes (L,), (curves, L).

    Repeats are averaged in log space; those that only some curves have serve as far as others tell what they shift.
    """
    met = [by_load(curve) for curve in chosen]
    loads = sorted(set.intersection(*map(set, met)))
    found = {load: row for load in loads if (row := levels([of_one[load] for of_one in met])) is not None}
    return np.array(list(found)), np.array(list(found.values())).reshape(len(found), len(chosen)).T


def medians(chosen: Mapping[str, Curve], load: float) -> dict[str, float]:
    """Return the median over repeats of each arm's value at a load; nothing unless all met the same repeats there."""
    met = {arm: by_load(curve).get(load, {}) for arm, curve in chosen.items()}
    if len({frozenset(each) for each in met.values()}) > 1:
        return {}
    return {arm: float(np.median(np.exp(list(each.values())))) for arm, each in met.items() if each}
