"""A metric over load, arm by arm, from the cells that can be trusted to say which arm is better."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whichbits.analyze.summary import CellSummary, Metric
from whichbits.record.timelines import Floats

LoadUnit = Literal["concurrency", "request_rate"]

MARGIN = 0.02
"""Arms within this ratio of each other are taken as equal, in either direction."""

FAILED_SHARE = 0.01
"""Beyond this share of failures the survivors' p99 no longer says what users feel, and work is not equal."""


@dataclass(frozen=True)
class Measured:
    """How a compared metric is called, and whether less of it is better."""

    name: str
    lower_is_better: bool


METRICS: dict[Metric, Measured] = {
    "tpot_ms.p50": Measured("median TPOT", lower_is_better=True),
    "tpot_ms.p99": Measured("p99 TPOT", lower_is_better=True),
    "ttft_ms.p50": Measured("median TTFT", lower_is_better=True),
    "output_tokens_per_s": Measured("output throughput", lower_is_better=False),
}

Curve = dict[tuple[float, int], float]
"""ln(value) by (load, repeat)."""


def load_unit(cells: Iterable[CellSummary]) -> LoadUnit:
    """Return what the load axis counts: request rates if every cell has one, else concurrency."""
    rates = [cell.request_rate for cell in cells]
    return "request_rate" if rates and None not in rates else "concurrency"


def load_of(cell: CellSummary, unit: LoadUnit) -> float | None:
    """Return where a cell lies on the axis; a capped rate among concurrencies has no place on it."""
    if unit == "request_rate":
        return cell.request_rate
    return cell.concurrency if cell.request_rate is None else None


def load_words(load: float | None) -> str:
    """Return a load as people say it; more than two digits would claim more than interpolation knows."""
    if load is None:
        return "every load"
    return f"{load:.1f}" if load < 10 and load != round(load) else f"{load:.0f}"


def why_unusable(cell: CellSummary) -> str | None:
    """Say why a cell must not decide between arms, or None if it may."""
    if cell.state != "done":
        return cell.state
    if cell.client_verdict == "client_limited":
        return "client limited"
    if cell.failed > FAILED_SHARE * cell.requests:
        return "failed requests"
    return None


def value_of(cell: CellSummary, metric: Metric) -> float | None:
    """Return the metric at its address in summary.json."""
    holder, _, percentile = metric.partition(".")
    found = getattr(cell, holder)
    value: float | None = getattr(found, percentile) if percentile else found
    return value


def curves(cells: Iterable[CellSummary], metric: Metric, unit: LoadUnit) -> dict[str, Curve]:
    """Return each arm's curve over the cells that are usable and have a value above zero."""
    found: dict[str, Curve] = defaultdict(dict)
    for cell in cells:
        load, value = load_of(cell, unit), value_of(cell, metric)
        if load is not None and value is not None and value > 0 and why_unusable(cell) is None:
            found[cell.arm][load, cell.repeat] = math.log(value)
    return dict(found)


def paired(chosen: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Return the loads that all curves share, and per curve ln(value) there: shapes (L,) and (curves, L).

    Only repeats that all of them have enter; they are averaged in log space.
    """
    shared = sorted(set.intersection(*(set(curve) for curve in chosen)))
    repeats: dict[float, list[int]] = defaultdict(list)
    for load, repeat in shared:
        repeats[load].append(repeat)
    rows = [[math.fsum(curve[load, r] for r in rs) / len(rs) for load, rs in repeats.items()] for curve in chosen]
    return np.array(list(repeats)), np.array(rows).reshape(len(chosen), len(repeats))
