"""How a cell's requests left and ended: at which rates, and how long the last answers took after the last send."""

from dataclasses import dataclass

import numpy as np

from whichbits.analyze.load.concurrency import Window
from whichbits.analyze.load.shape import LoadShape
from whichbits.record.schema import Cell
from whichbits.record.timelines import Floats, Timelines


@dataclass(frozen=True)
class ArrivalRates:
    """Requests a second of an open loop: asked for, planned, and what came of it.

    Arrivals are drawn, so what is planned differs from what is asked by chance: compare what was sent with the plan.
    The ``steady_*`` ones count within the steady window, and are None without one.
    """

    asked: float
    planned: float | None
    """(due times - 1) / (last - first due time); None where later turns of sessions come when they may."""
    sent: float | None
    """(sends - 1) / (last - first send)."""
    steady_planned: float | None
    steady_sent: float | None
    steady_served: float | None
    """Good answers that ended within."""


@dataclass(frozen=True)
class Drain:
    """From the last send to the last end; ``share`` is of ``duration_s``."""

    seconds: float
    share: float


def drain(timelines: Timelines) -> Drain | None:
    """Return a cell's drain; None if nothing was sent, or nothing ended."""
    sent, finished = timelines.sent_ns, timelines.finished_ns
    if np.isnan(sent).all() or np.isnan(finished).all():
        return None
    last_end_ns = float(np.nanmax(finished))
    drained_ns, whole_ns = last_end_ns - float(np.nanmax(sent)), last_end_ns - float(np.nanmin(sent))
    return Drain(drained_ns / 1e9, drained_ns / whole_ns) if whole_ns > 0 and drained_ns >= 0 else None


def arrival_rates(cell: Cell, timelines: Timelines, shape: LoadShape, window: Window | None) -> ArrivalRates | None:
    """Return an open loop's rates; None for a closed one, whose rate follows from its answers."""
    if cell.request_rate is None:
        return None
    ended_ns = timelines.finished_ns[timelines.succeeded]
    return ArrivalRates(
        asked=cell.request_rate,
        planned=_planned(cell, timelines, shape),
        sent=_rate(timelines.sent_ns),
        steady_planned=None if shape.turns else _rate_within(window, timelines.scheduled_ns),
        steady_sent=_rate_within(window, timelines.sent_ns),
        steady_served=_rate_within(window, ended_ns),
    )


def _planned(cell: Cell, timelines: Timelines, shape: LoadShape) -> float | None:
    """Return the rate of the plan as the client kept it, else that of the requests on record."""
    if cell.client is not None and cell.client.requested_rate is not None:
        return cell.client.requested_rate
    return None if shape.turns else _rate(timelines.scheduled_ns)


def _rate(time_ns: Floats) -> float | None:
    known = time_ns[~np.isnan(time_ns)]
    seconds = float(np.ptp(known)) / 1e9 if known.size else 0.0
    return (known.size - 1) / seconds if seconds else None


def _rate_within(window: Window | None, time_ns: Floats) -> float | None:
    return None if window is None else int(np.count_nonzero(window.holds(time_ns))) / window.seconds
