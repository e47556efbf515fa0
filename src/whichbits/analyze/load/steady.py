"""The stretch of a cell in which load and throughput held steady, found by one rule for all kinds of load.

The rule, in order; a step that fails names its reason, and then there is no steady window:

1. Arrivals whose rate moves by design (``ramp``, ``stages`` of several shares) have no steady state.
2. The level is the number in flight that is reached for at least half of the time from first to last send: a closed
   loop's concurrency, an open one's usual crowd. The window runs from the first to the last moment at which so many
   are in flight, and ends with the last send at the latest: from there on requests only leave.
3. It must be as long as a median request, in an open loop as three, with ten sends: nothing is in balance before.
4. In an open loop, requests in flight must not grow throughout, by more than a quarter from one half to the other; nor
   from its start to its end by half and by three times what chance does. That is a queue.
5. Arrivals that follow no drawn rate (a trace, another tool's) must have one: due times in four equal quarters.
6. Of windows of ten median requests or more, ``stationarity.start_up`` cuts a slow start: batches as long as a median
   request, at most 50, at most half of them.
7. Where five batches fit into what is left, tokens/s must not rise or fall throughout by more than a tenth.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from whichbits.analyze.load.concurrency import Sweep, Window, mean_levels, sweep
from whichbits.analyze.load.shape import CLOSED, LoadShape
from whichbits.analyze.statistics.stationarity import change, rises, start_up
from whichbits.record.timelines import Floats, Timelines

FEWEST_BATCHES_TO_CUT = 10
MOST_BATCHES = 50
MOST_BATCHES_OF_TREND = 20
FEWEST_BATCHES_OF_TREND = 5
"""Of five values in rising order, one order in 120: fewer never pass the test."""
REQUESTS_LONG = {False: 1.0, True: 3.0}
"""By open loop: how many median requests a window takes at least."""
FEWEST_SENDS = 10
"""In an open loop: the rate of fewer is off by a third, by chance alone."""
DRIFT = 0.1
GROWTH = 0.25
GROWTH_IN_ALL = 0.5
SIGMAS = 3.0
UNEVEN = 1.5
UNEVEN_CHI_SQUARE = 11.345
"""The 99th percentile of chi-square with three degrees of freedom: four quarters of a Poisson stream."""

RULE = "median level in flight, to the last send; start-up cut by MSER; no trend"

Unsteady = Literal[
    "ramp",
    "stages",
    "nothing_answered",
    "too_short",
    "throughput_drifts",
    "in_flight_grows",
    "arrivals_vary",
]


class Steady(NamedTuple):
    """A window, or why there is none.

    ``cut_ns`` is the slow start that was cut, None where the window was too short to look for one. ``drift`` is the
    change of tokens/s from the window's first to its second half, None where it was too short to be tested.
    """

    window: Window | None
    reason: Unsteady | None = None
    cut_ns: float | None = None
    drift: float | None = None


@dataclass(frozen=True)
class SteadyState:
    """A steady window as it is shown; seconds count from the cell's first send, ``share`` is of ``duration_s``.

    Where there is none, ``reason`` says why and the numbers are None, except for ``drift``.
    """

    start_s: float | None
    end_s: float | None
    share: float | None
    requests: int | None
    """Sent within it; their later fate does not matter."""
    mean_concurrency: float | None
    cut_s: float | None
    """Of a slow start, by the marginal standard error rule; None where the window was too short to look for one."""
    drift: float | None
    """Tokens/s of its second half / those of its first - 1; None where too short to tell."""
    reason: Unsteady | None
    rule: str = RULE


def steady_window(timelines: Timelines, shape: LoadShape = CLOSED) -> Window | None:
    """Return the window alone."""
    return steady(timelines, shape).window


def steady(timelines: Timelines, shape: LoadShape = CLOSED) -> Steady:
    """Find the window by the rule above."""
    flight, request_ns = sweep(timelines), _median_request_ns(timelines)
    if shape.moving is not None:
        return Steady(None, shape.moving)
    if request_ns is None or flight.time_ns.size == 0:
        return Steady(None, "nothing_answered")
    level = level_window(flight, float(np.nanmax(timelines.sent_ns)))
    if reason := _out_of_balance(timelines, shape, flight, level, request_ns):
        return Steady(None, reason)
    window, cut_ns = _without_start_up(timelines, level, request_ns)
    tokens = _tokens(timelines, _edges(window, request_ns, MOST_BATCHES_OF_TREND))
    drift = change(tokens) if tokens.size >= FEWEST_BATCHES_OF_TREND else None
    if abs(drift or 0.0) > DRIFT and (rises(tokens) or rises(-tokens)):
        return Steady(None, "throughput_drifts", None, drift)
    return Steady(window, None, cut_ns, drift)


def steady_state(timelines: Timelines, found: Steady) -> SteadyState:
    """Put a window in words that summaries keep."""
    if found.window is None:
        return SteadyState(None, None, None, None, None, None, found.drift, found.reason)
    start_ns, end_ns = found.window
    first_ns = float(np.nanmin(timelines.sent_ns))
    whole_ns = float(np.nanmax(timelines.finished_ns)) - first_ns
    return SteadyState(
        start_s=(start_ns - first_ns) / 1e9,
        end_s=(end_ns - first_ns) / 1e9,
        share=(end_ns - start_ns) / whole_ns,
        requests=int(np.count_nonzero(found.window.holds(timelines.sent_ns))),
        mean_concurrency=float(mean_levels(sweep(timelines), np.array(found.window))[0]),
        cut_s=None if found.cut_ns is None else found.cut_ns / 1e9,
        drift=found.drift,
        reason=None,
    )


def level_window(flight: Sweep, last_send_ns: float) -> Window:
    """Return the time from the first to the last moment, up to the last send, at the median level or above."""
    reached = np.flatnonzero(flight.in_flight >= _median_level(flight, last_send_ns))
    until = reached[flight.time_ns[reached] <= last_send_ns][-1]
    left_ns = flight.time_ns[until + 1] if until + 1 < flight.time_ns.size else last_send_ns
    return Window(float(flight.time_ns[reached[0]]), float(min(left_ns, last_send_ns)))


def _out_of_balance(
    timelines: Timelines, shape: LoadShape, flight: Sweep, level: Window, request_ns: float
) -> Unsteady | None:
    """Say what forbids a steady state of the load, whatever throughput does."""
    if level.end_ns - level.start_ns < REQUESTS_LONG[shape.open_loop] * request_ns:
        return "too_short"
    if shape.open_loop and np.count_nonzero(level.holds(timelines.sent_ns)) < FEWEST_SENDS:
        return "too_short"
    if shape.open_loop and _in_flight_grows(flight, level, request_ns):
        return "in_flight_grows"
    if shape.open_loop and not shape.one_rate and _arrivals_vary(timelines, level):
        return "arrivals_vary"
    return None


def _median_level(flight: Sweep, until_ns: float) -> int:
    """Return the level in flight that is reached for at least half of the time up to ``until_ns``."""
    held_ns = np.diff(np.minimum(flight.time_ns, until_ns), append=until_ns)
    highest_first = np.argsort(-flight.in_flight, kind="stable")
    held_at_least = np.cumsum(held_ns[highest_first])
    return int(flight.in_flight[highest_first][np.searchsorted(held_at_least, held_at_least[-1] / 2)])


def _median_request_ns(timelines: Timelines) -> float | None:
    times_ns = (timelines.finished_ns - timelines.sent_ns)[timelines.succeeded]
    known = times_ns[~np.isnan(times_ns)]
    return float(np.median(known)) if known.size else None


def _without_start_up(timelines: Timelines, level: Window, request_ns: float) -> tuple[Window, float | None]:
    """Return the window without its slow start, and how much that was."""
    edges_ns = _edges(level, request_ns, MOST_BATCHES)
    if edges_ns.size <= FEWEST_BATCHES_TO_CUT:
        return level, None
    start_ns = float(edges_ns[start_up(_tokens(timelines, edges_ns))])
    return Window(start_ns, level.end_ns), start_ns - level.start_ns


def _in_flight_grows(flight: Sweep, window: Window, request_ns: float) -> bool:
    """Say whether a queue builds up: by a trend, or where the window has too few batches for one, by its ends.

    Both levels at the ends are at the median or above. Of an M/G/infinity queue each is Poisson, and they differ by the
    root of their sum. A queue lengthens every request, so that few batches as long as a request may be left.
    """
    levels = mean_levels(flight, _edges(window, request_ns, MOST_BATCHES_OF_TREND))
    if rises(levels) and (change(levels) or 0.0) > GROWTH:
        return True
    early, late = flight.in_flight[np.searchsorted(flight.time_ns, window, side="right") - 1]
    return bool(late - early > SIGMAS * np.sqrt(early + late) and late > (1 + GROWTH_IN_ALL) * early)


def _arrivals_vary(timelines: Timelines, window: Window) -> bool:
    """Say whether arrivals of no known rate have none: due times in quarters differ beyond what chance does to one."""
    due, _ = np.histogram(timelines.scheduled_ns, np.linspace(*window, 5))
    mean = due.mean()
    chi_square = ((due - mean) ** 2).sum() / mean if mean else 0.0
    return bool(chi_square > UNEVEN_CHI_SQUARE and due.max() > UNEVEN * due.min())


def _edges(window: Window, request_ns: float, at_most: int) -> Floats:
    """Cut a window into as many equal batches as have the length of a request, or as may be."""
    length_ns = window.end_ns - window.start_ns
    batches = at_most if length_ns >= at_most * request_ns else max(1, int(length_ns / request_ns))
    return np.linspace(*window, batches + 1)


def _tokens(timelines: Timelines, edges_ns: Floats) -> Floats:
    """Count the tokens of good answers between each two neighbouring edges, the earlier one excluded."""
    batch = np.searchsorted(edges_ns, timelines.chunk_ns) - 1
    counted = np.repeat(timelines.succeeded, timelines.chunks) & (batch >= 0) & (batch < edges_ns.size - 1)
    tokens = np.bincount(batch[counted], timelines.chunk_tokens[counted], minlength=edges_ns.size - 1)
    return np.asarray(tokens, dtype=np.float64)
