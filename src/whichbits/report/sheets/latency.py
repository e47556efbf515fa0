"""Where a request spends its time by the engine's own account: in the queue, in prefill, in decode."""

from whichbits.analyze.summary import CellSummary, EngineTimes, Summary
from whichbits.record.schema import Manifest
from whichbits.report.pooled import Pooled, by_arm
from whichbits.report.sheets.sheet import Sheet, bars
from whichbits.report.wording import number

_STAGES = ("queue", "prefill", "decode")


def latency_split(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; None if no engine tells."""
    rows = [(each, _means(each)) for each in by_arm(summary)]
    known = [(each, means) for each, means in rows if any(mean is not None for mean in means)]
    if not known:
        return None
    return Sheet(
        name="latency-split",
        title="Where a request's time goes",
        meaning="Mean ms a request by the engine's counters; the client's times also hold the network and the HTTP "
        "server. Queue and prefill make TTFT, decode makes TPOT.",
        headings=("arm", "load", *(f"{stage} ms" for stage in _STAGES)),
        rows=tuple((each.arm, each.load_text, *map(number, means)) for each, means in known),
        words=2,
        parts=_STAGES,
        bars=bars(tuple(means for _, means in known), each_whole=True),
    )


def _means(each: Pooled) -> tuple[float | None, ...]:
    return (each.median(_queue), each.median(_prefill), each.median(_decode))


def _queue(cell: CellSummary) -> float | None:
    return _mean(cell.engine_queue_ms)


def _prefill(cell: CellSummary) -> float | None:
    return _mean(cell.engine_prefill_ms)


def _decode(cell: CellSummary) -> float | None:
    return _mean(cell.engine_decode_ms)


def _mean(times: EngineTimes | None) -> float | None:
    return None if times is None else times.mean
