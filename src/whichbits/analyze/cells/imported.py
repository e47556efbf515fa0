"""One cell as another tool tells it: from its statistics alone, or from its requests as far as it kept them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whichbits.analyze.latency.throughput import mean_batch
from whichbits.analyze.latency.times import is_thin
from whichbits.analyze.load.sending import ArrivalRates
from whichbits.analyze.summary import CellSummary, Distribution
from whichbits.record.schema import Cell, Imported

_LATENCIES = ("ttft_ms", "ttft_from_send_ms", "tpot_ms", "itl_ms", "e2e_ms")
_RATES = ("output_tokens_per_s", "total_tokens_per_s", "requests_per_s")
_UNSTEADY: dict[str, Any] = {"steady_output_tokens_per_s": None, "steady": None}
_NOTHING = Distribution(0, None, None, None, None)


def of_statistics(cell: Cell, imported: Imported) -> CellSummary:
    """Return the cell by the tool's own statistics; there are no intervals, since no request is left to resample."""
    told = imported.statistics
    requests, failed = imported.requests or 0, cell.failed or 0
    good = max(0, requests - failed)
    output_tokens = round(told.get("output_tokens", 0))
    samples = dict.fromkeys(_LATENCIES, good) | {"itl_ms": max(0, output_tokens - good)}
    latencies: dict[str, Any] = {holder: _distribution(holder, imported, samples[holder]) for holder in _LATENCIES}
    rates: dict[str, Any] = {name: told.get(name) for name in _RATES}
    return CellSummary(
        cell=cell.cell,
        arm=cell.arm,
        concurrency=cell.concurrency,
        request_rate=cell.request_rate,
        repeat=cell.repeat,
        state=cell.state,
        requests=requests,
        failed=failed,
        errors={},
        client_verdict=None,
        excluded_from_tpot=0,
        prompt_tokens=_whole(told, "prompt_tokens"),
        cached_tokens=None,
        output_tokens=output_tokens,
        duration_s=told.get("duration_s"),
        steady_output_tokens_per_s=None,
        mean_batch=mean_batch(rates["output_tokens_per_s"], latencies["tpot_ms"].p50),
        peak_concurrency=None,
        prefix_hit_rate=None,
        definitions=dict(imported.definitions),
        **latencies,
        **rates,
    )


def as_defined(summary: CellSummary, imported: Imported) -> CellSummary:
    """Return a cell of imported requests without what the tool did not keep; totals per time are the tool's own."""
    unknown: dict[str, Any] = {name: _NOTHING for name in _LATENCIES if name not in imported.definitions}
    # Other tools do not keep when a request was due.
    unknown |= {"send_wait_ms": None, "e2e_from_send_ms": None, "arrival_rates": _without_plan(summary.arrival_rates)}
    if "itl_ms" in unknown:
        # Without the time of each chunk, nothing that looks between first and last token is known.
        unknown |= _UNSTEADY | {"itl_modes": None, "prefill_steps": None}
    if not imported.one_clock:
        unknown |= dict.fromkeys(("duration_s", *_RATES, "mean_batch", "goodput_requests_per_s"))
        unknown |= _UNSTEADY | dict.fromkeys(("peak_concurrency", "mean_concurrency", "prefill_steps"))
        unknown |= dict.fromkeys(("drain", "arrival_rates"))
    told = {name: imported.statistics[name] for name in ("duration_s", *_RATES) if name in imported.statistics}
    known = replace(summary, **(unknown | told), definitions=dict(imported.definitions))
    return replace(known, mean_batch=mean_batch(known.output_tokens_per_s, known.tpot_ms.p50))


def _without_plan(rates: ArrivalRates | None) -> ArrivalRates | None:
    return None if rates is None else replace(rates, planned=None, steady_planned=None)


def _distribution(holder: str, imported: Imported, samples: int) -> Distribution:
    told = {name: imported.statistics.get(f"{holder}.{name}") for name in ("mean", "p50", "p90", "p99")}
    if holder not in imported.definitions or all(value is None for value in told.values()):
        return _NOTHING
    thin = tuple(f"p{percent}" for percent in (50, 90, 99) if is_thin(samples, percent))
    return Distribution(samples, told["mean"], told["p50"], told["p90"], told["p99"], thin)


def _whole(told: Mapping[str, float], name: str) -> int | None:
    return round(told[name]) if name in told else None
