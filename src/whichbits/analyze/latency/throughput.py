"""Work per second: tokens, requests, and requests that held their SLOs.

Only the tokens of requests that succeeded count as work; the time of failed ones still passes.
"""

from dataclasses import dataclass

import numpy as np

from whichbits.analyze.latency.times import e2e_ms, tpot_ms, ttft_ms
from whichbits.analyze.load.concurrency import Window
from whichbits.record.timelines import Booleans, Floats, Timelines
from whichbits.study.model import Slo


@dataclass(frozen=True)
class Throughput:
    """A whole cell's work over its time, first send to last finish.

    Counts add up what answers told; a rate is None where one of them did not tell its tokens.
    """

    duration_s: float | None
    prompt_tokens: int | None
    output_tokens: int
    output_tokens_per_s: float | None
    total_tokens_per_s: float | None
    requests_per_s: float | None


def throughput(timelines: Timelines) -> Throughput:
    """Add up a cell."""
    seconds = duration_s(timelines)
    prompt = tokens(timelines, timelines.prompt_tokens)
    output = tokens(timelines, timelines.output_tokens) or 0
    rated = output if _all_told(timelines, timelines.output_tokens) else None
    whole = None if rated is None or not _all_told(timelines, timelines.prompt_tokens) else (prompt or 0) + rated
    return Throughput(
        duration_s=seconds,
        prompt_tokens=prompt,
        output_tokens=output,
        output_tokens_per_s=per_second(rated, seconds),
        total_tokens_per_s=per_second(whole, seconds),
        requests_per_s=per_second(int(timelines.succeeded.sum()), seconds),
    )


def duration_s(timelines: Timelines) -> float | None:
    """Return the time from the first send to the last finish; None if nothing was sent, or nothing ended."""
    sent, finished = timelines.sent_ns, timelines.finished_ns
    if np.isnan(sent).all() or np.isnan(finished).all():
        return None
    return float(np.nanmax(finished) - np.nanmin(sent)) / 1e9


def tokens(timelines: Timelines, per_request: Floats) -> int | None:
    """Sum a count over the requests that succeeded; None if no request knows it."""
    known = per_request[timelines.succeeded & ~np.isnan(per_request)]
    return int(known.sum()) if known.size else None


def _all_told(timelines: Timelines, per_request: Floats) -> bool:
    return not np.isnan(per_request[timelines.succeeded]).any()


def steady_output_tokens_per_s(timelines: Timelines, window: Window | None) -> float | None:
    """Tokens whose chunk arrived within the window, over the window."""
    if window is None:
        return None
    counted = window.holds(timelines.chunk_ns) & np.repeat(timelines.succeeded, timelines.chunks)
    return per_second(int(timelines.chunk_tokens[counted].sum()), window.seconds)


def mean_batch(output_tokens_per_s: float | None, median_tpot_ms: float | None) -> float | None:
    """Mean number of requests decoding at once, by Little's law: whole-cell output tokens/s x median TPOT."""
    if output_tokens_per_s is None or median_tpot_ms is None:
        return None
    return output_tokens_per_s * median_tpot_ms / 1e3


def mean_context_tokens(timelines: Timelines) -> float | None:
    """Tokens of a decoding request in the KV cache, averaged over all decode steps of the requests that succeeded.

    An answer of n tokens takes n - 1 decode steps, the first with the prompt and one token, the last with the prompt
    and n - 1: on average prompt + n/2.
    """
    steps = np.where(timelines.succeeded, timelines.output_tokens - 1, np.nan)
    tokens_held = timelines.prompt_tokens + timelines.output_tokens / 2
    known = ~np.isnan(steps * tokens_held) & (steps > 0)
    return float(np.average(tokens_held[known], weights=steps[known])) if known.any() else None


def good(timelines: Timelines, slo: Slo) -> Booleans:
    """Say for each request whether it succeeded and held every bound at once.

    A request without a TPOT (fewer than two tokens) has no gap that could break that bound.
    """
    held = timelines.succeeded.copy()
    if slo.ttft_ms is not None:
        held &= ttft_ms(timelines) <= slo.ttft_ms
    if slo.tpot_ms is not None:
        held &= ~(tpot_ms(timelines) > slo.tpot_ms)
    if slo.e2e_ms is not None:
        held &= e2e_ms(timelines) <= slo.e2e_ms
    return held


def per_second(amount: int | None, seconds: float | None) -> float | None:
    """Divide; None if either is unknown or no time passed."""
    return amount / seconds if amount is not None and seconds else None
