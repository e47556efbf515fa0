"""Whether the machine changed while a study ran: metrics of equal work over time, within each arm and load."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whichbits.analyze import amounts
from whichbits.analyze.curves.load_curves import comparable
from whichbits.analyze.statistics.student import t_quantile
from whichbits.analyze.summary import CellSummary, Finding, Metric
from whichbits.language.amounts import amount
from whichbits.language.phrase import phrase
from whichbits.record.timelines import Floats

METRIC: Metric = "tpot_ms.p50"
SMALLEST = 0.01
"""A drift over the whole study that is smaller moves no answer."""


@dataclass(frozen=True)
class Drift:
    """Change of a metric's logarithm over the time between the first and the last cell, with its 95 % interval."""

    change: float
    low: float
    high: float
    hours: float
    cells: int


def drift(cells: Sequence[CellSummary], started_ns: Mapping[int, int], arm: str | None = None) -> Drift | None:
    """Regress ln(median TPOT) on time within each arm and load (all arms alike, or one).

    Repeats are equal work, so whatever trends between them is the machine, or an arm's server growing old. None if
    fewer than three degrees of freedom are left.
    """
    groups = _groups([cell for cell in cells if arm in (None, cell.arm)], started_ns)
    if not groups:
        return None
    hours = np.concatenate([group[0] - group[0].mean() for group in groups])
    logs = np.concatenate([group[1] - group[1].mean() for group in groups])
    df = hours.size - len(groups) - 1
    spread = float((hours**2).sum())
    if df < 3 or spread == 0:
        return None
    slope = float((hours * logs).sum()) / spread
    error = float(np.sqrt(((logs - slope * hours) ** 2).sum() / df / spread))
    span = max(group[0].max() for group in groups) - min(group[0].min() for group in groups)
    reach = t_quantile(0.975, df) * error
    return Drift(slope * span, (slope - reach) * span, (slope + reach) * span, float(span), hours.size)


def drifts(cells: Sequence[CellSummary], started_ns: Mapping[int, int]) -> Iterator[Finding]:
    """Say that the machine drifted, if that is beyond doubt and large enough to matter."""
    found = drift(cells, started_ns)
    if found is None or abs(found.change) < SMALLEST or found.low < 0 < found.high:
        return
    text = phrase(
        "Equal work grew {more} while the study ran: median TPOT changed by {expm1:+.1%} ({expm1_2:+.1%} "
        "to {expm1_3:+.1%}) over {minutes}, within arms and loads. Arms take turns, so most of "
        "it cancels between them.",
        more=phrase("slower") if found.change > 0 else phrase("faster"),
        expm1=np.expm1(found.change),
        expm1_2=np.expm1(found.low),
        expm1_3=np.expm1(found.high),
        minutes=amount(round(found.hours * 60), "minute"),
    )
    by_arm = {arm: drift(cells, started_ns, arm) for arm in dict.fromkeys(cell.arm for cell in cells)}
    told = [
        phrase("{arm}: {expm1:+.1%} in {cells}", arm=arm, expm1=np.expm1(own.change), cells=amounts.cells(own.cells))
        for arm, own in by_arm.items()
        if own
    ]
    yield Finding("observed", "drift", text, tuple(told))


def _groups(cells: Sequence[CellSummary], started_ns: Mapping[int, int]) -> list[tuple[Floats, Floats]]:
    """Return (hours, logs) of every arm and load that was met more than once."""
    places: dict[tuple[str, int | None, float | None], list[tuple[float, float]]] = {}
    for cell in cells:
        value = comparable(cell, METRIC)
        if value is not None and cell.cell in started_ns:
            place = (cell.arm, cell.concurrency, cell.request_rate)
            places.setdefault(place, []).append((started_ns[cell.cell] / 3.6e12, float(np.log(value))))
    repeated = [np.array(each).T for each in places.values() if len(each) > 1]
    return [(hours, logs) for hours, logs in repeated]
