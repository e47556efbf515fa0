"""The bars of a request timeline as paths: a row a request, the whole time from 0 to ``ACROSS``."""

from collections.abc import Sequence

from whichbits.analyze.latency.request_timelines import RequestTimes
from whichbits.report.plots.scale import Scale

ACROSS = 1000
"""Units of the picture from its left to its right edge; a row is one unit high, and its bar a little less."""

PHASES = ("wait", "prefill", "decode", "lost", "gap")
"""The parts of a bar, in the order in which they are drawn."""

Span = tuple[float, float]


def whole(requests: Sequence[RequestTimes]) -> Span:
    """Return from when to when there is anything to see, in ms."""
    return (0.0, max((request.ended_ms for request in requests), default=0.0) or 1.0)


def phases(request: RequestTimes) -> dict[str, Span]:
    """Return when each part of a request began and ended, in ms; parts that it never reached are left out.

    A failed request is lost from the last that was heard of it to its end.
    """
    times = (request.planned_ms, request.sent_ms, request.first_ms, request.last_ms)
    spans = {
        name: (start, end)
        for name, start, end in zip(PHASES, times, times[1:], strict=False)
        if start is not None and end is not None
    }
    if request.error is not None:
        spans["lost"] = (max(time for time in times if time is not None), request.ended_ms)
    if request.gap_from_ms is not None and request.gap_ms is not None:
        spans["gap"] = (request.gap_from_ms, request.gap_from_ms + request.gap_ms)
    return spans


def paths(requests: Sequence[RequestTimes]) -> dict[str, str]:
    """Return the outline of all bars of each phase, and as ``failed`` a point at the end of each failed one."""
    low, high = whole(requests)
    scale = ACROSS / (high - low)
    drawn: dict[str, list[str]] = {name: [] for name in PHASES}
    for row, request in enumerate(requests):
        for name, (start, end) in phases(request).items():
            width = f"{(end - start) * scale:.1f}"
            drawn[name].append(f"M{(start - low) * scale:.1f} {row}.1h{width}v.8h-{width}z")
    failed = [
        f"M{(request.ended_ms - low) * scale:.1f} {row}.5h0"
        for row, request in enumerate(requests)
        if request.error is not None
    ]
    return {name: "".join(parts) for name, parts in (drawn | {"failed": failed}).items()}


def ticks(requests: Sequence[RequestTimes]) -> dict[float, float]:
    """Return where, in percent of the width, each of some round seconds lies."""
    low, high = whole(requests)
    axis = Scale(low / 1e3, high / 1e3, 0, 100)
    return {tick: axis.place(tick) for tick in axis.ticks()}
