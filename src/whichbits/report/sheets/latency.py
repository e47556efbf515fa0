"""Where a request spends its time by the engine's own account: in the queue, in prefill, in decode."""

from whichbits.analyze.summary import CellSummary, EngineTimes, Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, Reading, by_arm
from whichbits.report.sheets.sheet import Sheet, bars
from whichbits.report.wording import number

_STAGES = (phrase("queue"), phrase("prefill"), phrase("decode"))


def _before_send(cell: CellSummary) -> float | None:
    return None if cell.latency_split is None else cell.latency_split.before_send


def _outside(cell: CellSummary) -> float | None:
    return None if cell.latency_split is None else cell.latency_split.outside


_CLIENT: dict[str, Reading] = {phrase("before send"): _before_send, phrase("outside"): _outside}
_OUTSIDE = phrase(
    "Outside is what remains of the client's TTFT: network, HTTP, tokenising, the first token's way back."
)


def latency_split(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; None if no engine tells."""
    rows = [(each, _means(each)) for each in by_arm(summary)]
    known = [(each, means) for each, means in rows if any(mean is not None for mean in means)]
    if not known:
        return None
    beside = tuple(name for name, reading in _CLIENT.items() if any(each.median(reading) for each, _ in known))
    return Sheet(
        name="latency-split",
        title=phrase("Where a request's time goes"),
        meaning=phrase(
            "Mean ms a request by the engine's counters: queue and prefill make TTFT, decode makes TPOT. {outside}",
            outside=_OUTSIDE if beside else "",
        ),
        headings=(phrase("arm"), phrase("load"), *(phrase("{stage} ms", stage=stage) for stage in (*_STAGES, *beside))),
        rows=tuple(
            (each.arm, each.load_text, *map(number, (*means, *(each.median(_CLIENT[name]) for name in beside))))
            for each, means in known
        ),
        words=2,
        parts=_STAGES,
        bars=bars(tuple(means for _, means in known)),
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
