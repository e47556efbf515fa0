"""What the self-check of the client is made from: lags, gaps, processor and rate of a cell, over all workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy as np

from whichbits.drive.crew.clock import ClockAgreement
from whichbits.drive.crew.tally import Tally
from whichbits.drive.part import PartReport

LAG_FLOOR_MS = 1.0
"""Below this a lag is smaller than the milliseconds that reports show."""
TIMER_FLOOR_MS = 2.0
"""The same for an event loop, whose timers count milliseconds on both ends of a tick."""
CPU_WINDOW_SECONDS = 0.5
"""In a shorter cell the CPU share is that of the first burst of sends, whatever the load."""

_MS = 1_000_000


@dataclass(frozen=True)
class Observations:
    """What the check is made from: what each worker saw, and the counts of the whole cell.

    ``requested_rate`` is of the plan's own arrivals, per second; None in a closed loop. ``clocks`` are those of workers
    on other machines.
    """

    open_loop: bool
    parts: Sequence[PartReport]
    tally: Tally
    requested_rate: float | None = None
    clocks: ClockAgreement | None = None


@dataclass(frozen=True)
class Measures:
    """A cell's client in numbers; None where it does not tell."""

    send_lag_ms: float | None
    loop_lag_ms: float | None
    read_lag_ms: float | None
    merged_share: float | None
    cpu_share: float | None
    short_gap_share: float | None
    mean_gap_ms: float | None
    ttft_ms: float | None
    e2e_ms: float | None
    late_connect_share: float | None
    achieved_rate: float | None
    kernel_stamps: bool

    @property
    def floor_ms(self) -> float:
        """The lag that convicts nobody."""
        return LAG_FLOOR_MS if self.kernel_stamps else TIMER_FLOOR_MS


def measure(seen: Observations) -> Measures:
    """Return what a cell's workers saw, in numbers."""
    parts, tally = seen.parts, seen.tally
    gaps = sum(part.gaps for part in parts)
    kernel_stamps = bool(parts) and all(part.kernel_stamps for part in parts)
    late = sum(len(part.late_connect_ns) for part in parts)
    return Measures(
        send_lag_ms=_p99_ms([part.send_lags_ns for part in parts]),
        loop_lag_ms=_p99_ms([part.loop_lags_ns for part in parts]),
        read_lag_ms=_p99_ms([part.read_lags_ns for part in parts]) if kernel_stamps else None,
        merged_share=_merged_share(parts, tally) if kernel_stamps else None,
        cpu_share=max((share for part in parts if (share := _cpu_share(part)) is not None), default=None),
        short_gap_share=sum(part.short_gaps for part in parts) / gaps if gaps else None,
        mean_gap_ms=tally.gap_span_ns / tally.gaps / _MS if tally.gaps else None,
        ttft_ms=_server_ttft_ms(parts, tally),
        e2e_ms=tally.e2e_ns / tally.answered / _MS if tally.answered else None,
        late_connect_share=late / tally.sent if tally.sent else None,
        achieved_rate=_achieved_rate(tally) if seen.requested_rate is not None else None,
        kernel_stamps=kernel_stamps,
    )


def _cpu_share(part: PartReport) -> float | None:
    duration_ns = part.finished_ns - part.started_ns
    return part.cpu_ns / duration_ns if duration_ns >= CPU_WINDOW_SECONDS * 1e9 else None


def _merged_share(parts: Sequence[PartReport], tally: Tally) -> float | None:
    """Return the share of gaps that late reads closed, less those that a server which bundles had closed before."""
    if not tally.gaps:
        return None
    late = sum(part.late_gaps for part in parts)
    merged = sum(part.merged_gaps for part in parts)
    bundled = sum(part.bundled_gaps for part in parts)
    in_time = sum(part.gaps for part in parts) - late
    by_server = late * bundled / in_time if in_time else 0.0
    return max(0.0, merged - by_server) / tally.gaps


def _server_ttft_ms(parts: Sequence[PartReport], tally: Tally) -> float | None:
    """Return the median TTFT from the schedule less the median lag of sends, which is in it."""
    if not tally.ttft_ns.values:
        return None
    lags_ns = [lag for part in parts for lag in part.send_lags_ns]
    lag_ns = float(median(lags_ns)) if lags_ns else 0.0
    return max(0.0, float(median(tally.ttft_ns.values)) - lag_ns) / _MS


def _achieved_rate(tally: Tally) -> float | None:
    """Return sends a second, between the first and the last."""
    first, last = tally.first_sent_ns, tally.last_sent_ns
    if first is None or last is None or last <= first:
        return None
    return (tally.sent - 1) / (last - first) * 1e9


def _p99_ms(lags_ns: Sequence[Sequence[int]]) -> float | None:
    """Return the p99 over all workers' lags."""
    pooled = np.fromiter(chain.from_iterable(lags_ns), dtype=np.float64)
    return float(np.percentile(pooled, 99)) / _MS if len(pooled) else None
