"""Whether the client could have been the limit: the self-check that decides if a cell may be trusted.

One rule for lags: a lag matters by what it blurs. The loop's lag delays the stamps of chunks, so it is held
against the gap between chunks; the lag of sends delays whole requests, so it is held against the time to
first token.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from whichbits.drive.answer import Answer
from whichbits.drive.exchange import Exchange
from whichbits.record.schema import ClientHealth, ClientVerdict

SUSPECT_LAG_SHARE = 0.1
"""A tenth of what it blurs: as large as the differences between weight formats that people act on."""
LIMITED_LAG_SHARE = 0.5
"""Half of what it blurs: the tail of the distribution is then the client's, not the server's."""
LAG_FLOOR_MS = 2.0
"""Below this a lag is the millisecond resolution of the loop's timers, on both ends of a tick."""
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

TICK_SECONDS = 0.005

_MS = 1_000_000


class Ticker:
    """Calls back at a steady interval and tells how late the loop let it."""

    def __init__(self, interval_s: float, on_tick: Callable[[int], None]) -> None:
        """``on_tick`` gets the lag in nanoseconds."""
        self._interval_s = interval_s
        self._on_tick = on_tick
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._due_ns = time.monotonic_ns() + round(self._interval_s * 1e9)
        self._handle = asyncio.get_running_loop().call_later(self._interval_s, self._tick)

    def stop(self) -> None:
        """End; no call follows."""
        if self._handle is not None:
            self._handle.cancel()

    def _tick(self) -> None:
        lag_ns = max(0, time.monotonic_ns() - self._due_ns)
        self.start()
        self._on_tick(lag_ns)


@dataclass(frozen=True)
class Observations:
    """What the check is made from. Times are nanoseconds; CPU time is this process's, in one thread."""

    open_loop: bool
    exchanges: Sequence[Exchange]
    answers: Sequence[Answer]
    loop_lags_ns: Sequence[int]
    cpu_ns: int
    duration_ns: int


@dataclass(frozen=True)
class _Measures:
    send_lag_ms: float | None
    loop_lag_ms: float | None
    cpu_share: float | None
    short_gap_share: float | None
    mean_gap_ms: float | None
    ttft_ms: float | None
    late_connect_share: float | None


def check(seen: Observations) -> ClientHealth:
    """Return the verdict, its reasons in words, and the numbers."""
    measures = _measure(seen)
    limits = [*_lag_limits(measures), *_cpu_limits(measures)]
    notes = [*_gap_notes(measures, client_is_late=bool(limits)), *_connect_notes(measures)]
    verdicts: set[ClientVerdict] = {verdict for verdict, _ in limits}
    worst: ClientVerdict = "client_ok"
    if verdicts:
        worst = "client_limited" if "client_limited" in verdicts else "client_suspect"
    return ClientHealth(
        verdict=worst,
        reasons=tuple([reason for _, reason in limits] + notes),
        send_lag_p99_ms=measures.send_lag_ms,
        loop_lag_p99_ms=measures.loop_lag_ms,
        cpu_share=measures.cpu_share,
        sub_millisecond_gap_share=measures.short_gap_share,
    )


def _measure(seen: Observations) -> _Measures:
    sends = [exchange for exchange in seen.exchanges if exchange.sent_ns is not None]
    send_lags = [exchange.sent_ns - exchange.due_ns for exchange in sends if exchange.sent_ns is not None]
    late = sum(exchange.connect_ns is not None for exchange in sends)
    gaps = sum(answer.separate_gaps for answer in seen.answers)
    return _Measures(
        send_lag_ms=_p99_ms(send_lags) if seen.open_loop else None,
        loop_lag_ms=_p99_ms(seen.loop_lags_ns),
        cpu_share=_cpu_share(seen),
        short_gap_share=sum(answer.short_gaps for answer in seen.answers) / gaps if gaps else None,
        mean_gap_ms=_mean_gap_ms(seen.answers),
        ttft_ms=_median_ttft_ms(seen),
        late_connect_share=late / len(sends) if sends else None,
    )


def _lag_limits(measures: _Measures) -> list[tuple[ClientVerdict, str]]:
    pairs = (
        ("event loop", measures.loop_lag_ms, "mean gap between chunks", measures.mean_gap_ms),
        ("sends", measures.send_lag_ms, "median TTFT", measures.ttft_ms),
    )
    return [
        (_verdict(_share(lag, blurred), SUSPECT_LAG_SHARE, LIMITED_LAG_SHARE), _lag_reason(who, lag, what, blurred))
        for who, lag, what, blurred in pairs
        if lag is not None and blurred is not None and lag > max(LAG_FLOOR_MS, SUSPECT_LAG_SHARE * blurred)
    ]


def _share(lag_ms: float, blurred_ms: float) -> float:
    """Return infinity where whole answers came in single reads: nothing between their chunks was resolved."""
    return lag_ms / blurred_ms if blurred_ms else math.inf


def _lag_reason(who: str, lag_ms: float, what: str, blurred_ms: float) -> str:
    return (
        f"{who}: p99 lag {lag_ms:.1f} ms is {_share(lag_ms, blurred_ms):.0%} of the {what} ({blurred_ms:.1f} ms); "
        f"suspect above {SUSPECT_LAG_SHARE:.0%}, limited above {LIMITED_LAG_SHARE:.0%}"
    )


def _cpu_limits(measures: _Measures) -> list[tuple[ClientVerdict, str]]:
    share = measures.cpu_share
    if share is None or share <= SUSPECT_CPU_SHARE:
        return []
    reason = (
        f"the client used {share:.0%} of one core; suspect above {SUSPECT_CPU_SHARE:.0%}, "
        f"limited above {LIMITED_CPU_SHARE:.0%}"
    )
    return [(_verdict(share, SUSPECT_CPU_SHARE, LIMITED_CPU_SHARE), reason)]


def _gap_notes(measures: _Measures, *, client_is_late: bool) -> list[str]:
    """Short gaps alone do not convict: they come from a late client or from a server that sends in bursts."""
    share, mean_ms = measures.short_gap_share, measures.mean_gap_ms
    if share is None or mean_ms is None or share <= SHORT_GAP_SHARE or mean_ms < SHORT_GAP_MEAN_MS:
        return []
    cause = "the client read late" if client_is_late else "the server or the network sent in bursts"
    return [f"{share:.0%} of the gaps between chunks are under 1 ms at a mean of {mean_ms:.1f} ms: {cause}"]


def _connect_notes(measures: _Measures) -> list[str]:
    share = measures.late_connect_share
    if share is None or share <= LATE_CONNECT_SHARE:
        return []
    return [f"{share:.0%} of the requests had to open a connection, and their latencies contain the handshake"]


def _verdict(value: float, suspect: float, limited: float) -> ClientVerdict:
    if value > limited:
        return "client_limited"
    return "client_suspect" if value > suspect else "client_ok"


def _cpu_share(seen: Observations) -> float | None:
    return seen.cpu_ns / seen.duration_ns if seen.duration_ns >= CPU_WINDOW_SECONDS * 1e9 else None


def _p99_ms(lags_ns: Sequence[int]) -> float | None:
    return float(np.percentile(lags_ns, 99)) / _MS if lags_ns else None


def _mean_gap_ms(answers: Sequence[Answer]) -> float | None:
    """Mean over all gaps; a late client moves the median gap towards zero, but hardly the mean."""
    spans_ns = [answer.chunk_ns[-1] - answer.chunk_ns[0] for answer in answers if answer.chunk_ns]
    gaps = sum(len(answer.chunk_ns) - 1 for answer in answers if answer.chunk_ns)
    return sum(spans_ns) / gaps / _MS if gaps else None


def _median_ttft_ms(seen: Observations) -> float | None:
    ttfts_ns = [
        answer.chunk_ns[0] - exchange.scheduled_ns
        for exchange, answer in zip(seen.exchanges, seen.answers, strict=True)
        if answer.chunk_ns
    ]
    return median(ttfts_ns) / _MS if ttfts_ns else None
