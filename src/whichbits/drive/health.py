"""Whether the client could have been the limit: the self-check that decides if a cell may be trusted.

One rule for lags: a lag matters by what it blurs. The lag of sends is in every TTFT from the schedule, and where a
stream waits for its turn, it is missing from the load for so long. Reads that the kernel stamps may be late at no cost
until the next chunk arrives before they are done: what counts is the gaps that were lost so, not the lag. Without such
stamps the loop's lag delays the stamps themselves, and is held against the gap between chunks.

The bounds follow from what a p99 is, and are checked against a server that knows the truth: benchmarks/client_verdicts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy as np

from whichbits.drive.crew.clock import ClockAgreement
from whichbits.drive.crew.tally import Tally
from whichbits.drive.part import PartReport
from whichbits.drive.reasons import (
    BOUNDS,
    BUSY,
    CLOCKS,
    EVENT_LOOP,
    FEWER_SENT,
    FINE_BOUNDS,
    GAP_OF_ARRIVALS,
    HANDSHAKES,
    LATE,
    LATE_READS,
    LOST_GAPS,
    MEAN_GAP,
    MEAN_REQUEST,
    MEDIAN_TTFT,
    READ_LATE,
    SENDS,
    SENT_IN_BURSTS,
    SHORT_GAPS,
    TURNS,
)
from whichbits.language.phrase import phrase
from whichbits.record.schema import ClientHealth, ClientVerdict

SUSPECT_LAG_SHARE = 0.1
"""A tenth of what it blurs: as large as the differences between weight formats that people act on."""
LIMITED_LAG_SHARE = 0.5
"""Half of what it blurs: the tail of the distribution is then the client's, not the server's."""
LAG_FLOOR_MS = 1.0
"""Below this a lag is smaller than the milliseconds that reports show."""
TIMER_FLOOR_MS = 2.0
"""The same for an event loop, whose timers count milliseconds on both ends of a tick."""
LATE_READ_SHARE = 0.5
"""A read half a gap late at p99: gaps vary, so by then the next chunk is at times there first. Worth a word."""
SUSPECT_MERGED_SHARE = 0.005
"""A gap that a late read closed makes its neighbour too long: so one gap in a hundred is false, and p99 is it."""
LIMITED_MERGED_SHARE = 0.025
"""One false gap in twenty: p95 is one, too, and no tail can be trusted."""
SUSPECT_CPU_SHARE = 0.7
"""One thread at 70 %: waiting for it grows as 1/(1 - share), here beyond three times an idle thread's."""
LIMITED_CPU_SHARE = 0.9
"""One thread at 90 %: a queue of ready reads is the normal state."""
CPU_WINDOW_SECONDS = 0.5
"""In a shorter cell the CPU share is that of the first burst of sends, whatever the load."""
SHORT_GAP_SHARE = 0.05
"""One gap in twenty under a millisecond reaches into the p95 of ITL from the other side."""
SHORT_GAP_MEAN_MS = 4.0
"""With a mean gap below this, gaps under a millisecond are ordinary."""
LATE_CONNECT_SHARE = 0.01
"""Handshakes in more than one request of a hundred show in its p99."""
ACHIEVED_SHARE = 0.95
"""Of the rate asked for; less is worth a word: a cap, a slow start, or answers that did not come."""

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
class _Measures:
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


_Limit = tuple[ClientVerdict, str]


def check(seen: Observations) -> ClientHealth:
    """Return the verdict, its reasons in words, and the numbers."""
    measures = _measure(seen)
    limits = [*_send_limits(measures, open_loop=seen.open_loop), *_stamp_limits(measures)]
    notes = [
        *_room_notes(measures),
        *_gap_notes(measures, client_is_late=bool(limits)),
        *_connect_notes(measures),
        *_rate_notes(measures, seen.requested_rate),
        *_clock_notes(measures, seen),
    ]
    verdicts: set[ClientVerdict] = {verdict for verdict, _ in limits}
    worst: ClientVerdict = "client_ok"
    if verdicts:
        worst = "client_limited" if "client_limited" in verdicts else "client_suspect"
    return ClientHealth(
        verdict=worst,
        reasons=tuple(str(reason) for reason in [*(reason for _, reason in limits), *notes]),
        send_lag_p99_ms=measures.send_lag_ms,
        loop_lag_p99_ms=measures.loop_lag_ms,
        cpu_share=measures.cpu_share,
        sub_millisecond_gap_share=measures.short_gap_share,
        workers=len(seen.parts) or None,
        read_lag_p99_ms=measures.read_lag_ms,
        merged_gap_share=measures.merged_share,
        kernel_stamps=measures.kernel_stamps if seen.parts else None,
        requested_rate=seen.requested_rate,
        achieved_rate=measures.achieved_rate,
        clock_error_ms=seen.clocks.error_ns / _MS if seen.clocks else None,
        clock_drift_ms=seen.clocks.drift_ns / _MS if seen.clocks and seen.clocks.drift_ns is not None else None,
    )


def _measure(seen: Observations) -> _Measures:
    parts, tally = seen.parts, seen.tally
    gaps = sum(part.gaps for part in parts)
    kernel_stamps = bool(parts) and all(part.kernel_stamps for part in parts)
    late = sum(len(part.late_connect_ns) for part in parts)
    return _Measures(
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


def _send_limits(measures: _Measures, *, open_loop: bool) -> list[_Limit]:
    """A send's lag is in the TTFT from its schedule; the load of a closed loop loses what whole requests lose."""
    lag, ttft, floor_ms = measures.send_lag_ms, measures.ttft_ms, measures.floor_ms
    if open_loop:
        return _lag_limits(SENDS, lag, (MEDIAN_TTFT, ttft), floor_ms)
    load = _lag_limits(TURNS, lag, (MEAN_REQUEST, measures.e2e_ms), floor_ms)
    if any(verdict == "client_limited" for verdict, _ in load):
        return load
    blurred = _lag_limits(TURNS, lag, (MEDIAN_TTFT, ttft), floor_ms)
    return [("client_suspect", reason) for _, reason in blurred] or load


def _stamp_limits(measures: _Measures) -> list[_Limit]:
    """Stamps of the kernel are right however late the reads are, until a read brings two; others are as late as it."""
    if measures.kernel_stamps:
        return _merged_limits(measures.merged_share)
    gap = (MEAN_GAP, measures.mean_gap_ms)
    return [*_lag_limits(EVENT_LOOP, measures.loop_lag_ms, gap, measures.floor_ms), *_cpu_limits(measures)]


def _merged_limits(share: float | None) -> list[_Limit]:
    if share is None or share <= SUSPECT_MERGED_SHARE:
        return []
    bounds = phrase(FINE_BOUNDS, suspect=SUSPECT_MERGED_SHARE, limited=LIMITED_MERGED_SHARE)
    reason = phrase(LOST_GAPS, share=share) + bounds
    return [(_verdict(share, SUSPECT_MERGED_SHARE, LIMITED_MERGED_SHARE), reason)]


def _lag_limits(who: str, lag: float | None, what: tuple[str, float | None], floor_ms: float) -> list[_Limit]:
    name, blurred = what
    if lag is None or blurred is None or lag <= max(floor_ms, SUSPECT_LAG_SHARE * blurred):
        return []
    reason = phrase(LATE, who=who, lag=lag, share=_share(lag, blurred), what=name, blurred=blurred)
    reason += _bounds(SUSPECT_LAG_SHARE, LIMITED_LAG_SHARE)
    return [(_verdict(_share(lag, blurred), SUSPECT_LAG_SHARE, LIMITED_LAG_SHARE), reason)]


def _bounds(suspect: float, limited: float) -> str:
    return phrase(BOUNDS, suspect=suspect, limited=limited)


def _share(lag_ms: float, blurred_ms: float) -> float:
    """Return infinity where whole answers came in single reads: nothing between their chunks was resolved."""
    return lag_ms / blurred_ms if blurred_ms else math.inf


def _cpu_limits(measures: _Measures) -> list[_Limit]:
    share = measures.cpu_share
    if share is None or share <= SUSPECT_CPU_SHARE:
        return []
    reason = phrase(BUSY, share=share) + _bounds(SUSPECT_CPU_SHARE, LIMITED_CPU_SHARE)
    return [(_verdict(share, SUSPECT_CPU_SHARE, LIMITED_CPU_SHARE), reason)]


def _room_notes(measures: _Measures) -> list[str]:
    """With the kernel's stamps a busy client errs no sooner than it loses gaps, but it may be near that."""
    if not measures.kernel_stamps:
        return []
    notes: list[str] = []
    share, lag, mean_gap = measures.cpu_share, measures.read_lag_ms, measures.mean_gap_ms
    if share is not None and share > SUSPECT_CPU_SHARE:
        notes.append(phrase(BUSY, share=share))
    if lag is not None and mean_gap is not None and lag > measures.floor_ms and lag >= LATE_READ_SHARE * mean_gap:
        notes.append(phrase(LATE_READS, lag=lag, share=_share(lag, mean_gap), mean_gap=mean_gap))
    return notes


def _gap_notes(measures: _Measures, *, client_is_late: bool) -> list[str]:
    """Short gaps alone do not convict: they come from a late client or from a server that sends in bursts."""
    share, mean_ms = measures.short_gap_share, measures.mean_gap_ms
    if share is None or mean_ms is None or share <= SHORT_GAP_SHARE or mean_ms < SHORT_GAP_MEAN_MS:
        return []
    return [phrase(SHORT_GAPS, share=share, mean=mean_ms, cause=READ_LATE if client_is_late else SENT_IN_BURSTS)]


def _connect_notes(measures: _Measures) -> list[str]:
    share = measures.late_connect_share
    if share is None or share <= LATE_CONNECT_SHARE:
        return []
    return [phrase(HANDSHAKES, share=share)]


def _rate_notes(measures: _Measures, requested: float | None) -> list[str]:
    achieved = measures.achieved_rate
    if requested is None or achieved is None or achieved >= ACHIEVED_SHARE * requested:
        return []
    return [phrase(FEWER_SENT, achieved=achieved, requested=requested)]


def _clock_notes(measures: _Measures, seen: Observations) -> list[str]:
    """Clocks of machines blur who was in flight with whom; a request's latencies are of one machine's clock each."""
    if seen.clocks is None:
        return []
    apart_ms = (seen.clocks.error_ns + (seen.clocks.drift_ns or 0)) / _MS
    rate = seen.requested_rate
    what, blurred_ms = (GAP_OF_ARRIVALS, 1e3 / rate) if rate else (MEAN_REQUEST, measures.e2e_ms)
    if blurred_ms is None or apart_ms <= SUSPECT_LAG_SHARE * blurred_ms:
        return []
    return [phrase(CLOCKS, apart=apart_ms, share=_share(apart_ms, blurred_ms), what=what, blurred=blurred_ms)]


def _verdict(value: float, suspect: float, limited: float) -> ClientVerdict:
    if value > limited:
        return "client_limited"
    return "client_suspect" if value > suspect else "client_ok"


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
