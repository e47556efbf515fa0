"""One cell in numbers, from its requests and its engines' counters."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from whichbits.analyze.cache.expected import ExpectedRate
from whichbits.analyze.cache.hits import beyond, prefix_hit_rate
from whichbits.analyze.cells.imported import as_defined, of_statistics
from whichbits.analyze.engine.counted import CellCounts
from whichbits.analyze.engine.replicas import replica_summaries
from whichbits.analyze.engine.view import engine_view
from whichbits.analyze.latency.itl_modes import itl_modes
from whichbits.analyze.latency.prefill_steps import prefill_steps
from whichbits.analyze.latency.split import latency_split, ttft_by_cache
from whichbits.analyze.latency.throughput import (
    good,
    mean_batch,
    mean_context_tokens,
    per_second,
    steady_output_tokens_per_s,
    throughput,
    tokens,
)
from whichbits.analyze.latency.times import (
    distribution,
    e2e_from_send_ms,
    e2e_ms,
    excluded_from_tpot,
    itl_ms,
    send_wait_ms,
    tpot_ms,
    ttft_from_send_ms,
    ttft_ms,
)
from whichbits.analyze.load.concurrency import mean_concurrency, peak_concurrency
from whichbits.analyze.load.sending import arrival_rates, drain
from whichbits.analyze.load.shape import CLOSED, LoadShape
from whichbits.analyze.load.steady import steady, steady_state
from whichbits.analyze.summary import CellSummary
from whichbits.record.schema import Cell
from whichbits.record.timelines import Booleans, Timelines
from whichbits.study.model import Slo


def cell_summary(  # noqa: PLR0913 - all that bears on a cell, beside its requests
    cell: Cell,
    requests: pa.Table,
    counts: CellCounts | None = None,
    slo: Slo | None = None,
    *,
    expected: ExpectedRate | None = None,
    shape: LoadShape = CLOSED,
    timelines: Timelines | None = None,
) -> CellSummary:
    """Summarise one cell; ``requests`` are its rows, ``counts`` what each replica counted meanwhile.

    ``expected`` is the hit rate that its planned traffic explains, ``shape`` how its requests were to come, and
    ``timelines`` are those of ``requests``, where somebody has them already.
    """
    if cell.imported is not None and not requests.num_rows:
        return of_statistics(cell, cell.imported)
    known = Timelines.of(requests) if timelines is None else timelines
    summary = _of_requests(cell, requests, known, counts or {}, slo, expected=expected, shape=shape)
    return summary if cell.imported is None else as_defined(summary, cell.imported)


def _of_requests(  # noqa: PLR0913 - as above
    cell: Cell,
    requests: pa.Table,
    timelines: Timelines,
    counts: CellCounts,
    slo: Slo | None,
    *,
    expected: ExpectedRate | None,
    shape: LoadShape,
) -> CellSummary:
    explained = None if expected is None else (expected.low, expected.high)
    work = throughput(timelines)
    tpot = distribution(tpot_ms(timelines))
    ttft, from_send = distribution(ttft_ms(timelines)), distribution(ttft_from_send_ms(timelines))
    held = steady(timelines, shape)
    gaps = itl_ms(timelines)
    seen = engine_view(counts)
    errors = _errors(requests)
    hit_rate = prefix_hit_rate(timelines, [counted.total for counted in counts.values()])
    return CellSummary(
        cell=cell.cell,
        arm=cell.arm,
        concurrency=cell.concurrency,
        request_rate=cell.request_rate,
        repeat=cell.repeat,
        state=cell.state,
        requests=len(timelines),
        failed=sum(errors.values()) - errors.get("cancelled", 0),
        errors=errors,
        client_verdict=None if cell.client is None else cell.client.verdict,
        ttft_ms=ttft,
        ttft_from_send_ms=from_send,
        tpot_ms=tpot,
        itl_ms=distribution(gaps),
        e2e_ms=distribution(e2e_ms(timelines)),
        excluded_from_tpot=excluded_from_tpot(timelines),
        prompt_tokens=work.prompt_tokens,
        cached_tokens=tokens(timelines, timelines.cached_tokens),
        output_tokens=work.output_tokens,
        duration_s=work.duration_s,
        output_tokens_per_s=work.output_tokens_per_s,
        total_tokens_per_s=work.total_tokens_per_s,
        requests_per_s=work.requests_per_s,
        steady_output_tokens_per_s=steady_output_tokens_per_s(timelines, held.window),
        mean_batch=mean_batch(work.output_tokens_per_s, tpot.p50),
        peak_concurrency=peak_concurrency(timelines),
        prefix_hit_rate=hit_rate,
        replicas=replica_summaries(requests, counts),
        expected_prefix_hit_rate=explained,
        hit_rate_as_expected=None if hit_rate is None or explained is None else not beyond(hit_rate, explained),
        **seen,
        latency_split=latency_split(seen, ttft, from_send),
        ttft_by_cache=ttft_by_cache(timelines),
        mean_context_tokens=mean_context_tokens(timelines),
        itl_modes=itl_modes(gaps),
        prefill_steps=prefill_steps(timelines, requests["replica"].to_pylist()),
        block=cell.block,
        token_count_source=cell.token_count_source,
        e2e_from_send_ms=distribution(e2e_from_send_ms(timelines)),
        send_wait_ms=distribution(send_wait_ms(timelines)),
        mean_concurrency=mean_concurrency(timelines),
        steady=steady_state(timelines, held) if len(timelines) else None,
        drain=drain(timelines),
        arrival_rates=arrival_rates(cell, timelines, shape, held.window),
        **_against(slo, cell, timelines, work.duration_s),
    )


def _errors(requests: pa.Table) -> dict[str, int]:
    """Count error codes, the most frequent first."""
    codes = Counter(code for code in requests["error_code"].to_pylist() if code is not None)
    return dict(sorted(codes.items(), key=lambda item: (-item[1], item[0])))


def _against(slo: Slo | None, cell: Cell, timelines: Timelines, duration_s: float | None) -> dict[str, Any]:
    if slo is None or not len(timelines):
        return {}
    held = good(timelines, slo)
    return {
        "goodput_requests_per_s": per_second(int(held.sum()), duration_s),
        "slo_share": int(held.sum()) / len(timelines),
        "slo_misses_at_start": _misses_at_start(cell, timelines, held),
    }


def _misses_at_start(cell: Cell, timelines: Timelines, held: Booleans) -> int | None:
    if cell.concurrency is None or cell.request_rate is not None:
        return None
    opening = np.argsort(timelines.sent_ns, kind="stable")[: cell.concurrency]  # what was never sent comes last
    return int((~held[opening]).sum())
