"""Whether the client could have been the limit: the self-check that decides if a cell may be trusted.

One rule for lags: a lag matters by what it blurs. The lag of sends is in every TTFT from the schedule, and where a
stream waits for its turn, it is missing from the load for so long. Reads that the kernel stamps may be late at no cost
until the next chunk arrives before they are done: what counts is the gaps that were lost so, not the lag. Without such
stamps the loop's lag delays the stamps themselves, and is held against the gap between chunks.

The bounds follow from what a p99 is, and are checked against a server that knows the truth: benchmarks/client_verdicts.
"""

import math

from whichbits.drive.client_measures import Measures, Observations, measure
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
SHORT_GAP_SHARE = 0.05
"""One gap in twenty under a millisecond reaches into the p95 of ITL from the other side."""
SHORT_GAP_MEAN_MS = 4.0
"""With a mean gap below this, gaps under a millisecond are ordinary."""
LATE_CONNECT_SHARE = 0.01
"""Handshakes in more than one request of a hundred show in its p99."""
ACHIEVED_SHARE = 0.95
"""Of the rate asked for; less is worth a word: a cap, a slow start, or answers that did not come."""

_MS = 1_000_000


_Limit = tuple[ClientVerdict, str]


def check(seen: Observations) -> ClientHealth:
    """Return the verdict, its reasons in words, and the numbers."""
    measures = measure(seen)
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


def _send_limits(measures: Measures, *, open_loop: bool) -> list[_Limit]:
    """A send's lag is in the TTFT from its schedule; the load of a closed loop loses what whole requests lose."""
    lag, ttft, floor_ms = measures.send_lag_ms, measures.ttft_ms, measures.floor_ms
    if open_loop:
        return _lag_limits(SENDS, lag, (MEDIAN_TTFT, ttft), floor_ms)
    load = _lag_limits(TURNS, lag, (MEAN_REQUEST, measures.e2e_ms), floor_ms)
    if any(verdict == "client_limited" for verdict, _ in load):
        return load
    blurred = _lag_limits(TURNS, lag, (MEDIAN_TTFT, ttft), floor_ms)
    return [("client_suspect", reason) for _, reason in blurred] or load


def _stamp_limits(measures: Measures) -> list[_Limit]:
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


def _cpu_limits(measures: Measures) -> list[_Limit]:
    share = measures.cpu_share
    if share is None or share <= SUSPECT_CPU_SHARE:
        return []
    reason = phrase(BUSY, share=share) + _bounds(SUSPECT_CPU_SHARE, LIMITED_CPU_SHARE)
    return [(_verdict(share, SUSPECT_CPU_SHARE, LIMITED_CPU_SHARE), reason)]


def _room_notes(measures: Measures) -> list[str]:
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


def _gap_notes(measures: Measures, *, client_is_late: bool) -> list[str]:
    """Short gaps alone do not convict: they come from a late client or from a server that sends in bursts."""
    share, mean_ms = measures.short_gap_share, measures.mean_gap_ms
    if share is None or mean_ms is None or share <= SHORT_GAP_SHARE or mean_ms < SHORT_GAP_MEAN_MS:
        return []
    return [phrase(SHORT_GAPS, share=share, mean=mean_ms, cause=READ_LATE if client_is_late else SENT_IN_BURSTS)]


def _connect_notes(measures: Measures) -> list[str]:
    share = measures.late_connect_share
    if share is None or share <= LATE_CONNECT_SHARE:
        return []
    return [phrase(HANDSHAKES, share=share)]


def _rate_notes(measures: Measures, requested: float | None) -> list[str]:
    achieved = measures.achieved_rate
    if requested is None or achieved is None or achieved >= ACHIEVED_SHARE * requested:
        return []
    return [phrase(FEWER_SENT, achieved=achieved, requested=requested)]


def _clock_notes(measures: Measures, seen: Observations) -> list[str]:
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
