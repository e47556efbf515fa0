"""Does the time to the first token pass in the engine at all?"""

from collections.abc import Iterator, Sequence

from whichbits.analyze.findings.observed import Observed, each, number, places
from whichbits.analyze.summary import CellSummary, Finding

OUTSIDE = 2.0
"""Times that the client's TTFT exceeds the engine's queue and prefill together."""
NOTICEABLE_MS = 100.0


def outside_engine(observed: Observed) -> Iterator[Finding]:
    """Name cells whose first tokens spend most of their time neither in the engine's queue nor in its prefill."""
    lost = [cell for cell in observed.done if _is_outside(cell)]
    if lost:
        text = (
            f"Most of TTFT passes outside the engine in {places(lost)}: neither in its queue nor in its prefill, but "
            f"in the client, the network or the HTTP front end (tokenising, streaming).{_front_words(lost)} No kernel "
            f"changes that; which arm leads in TTFT there says little of its bits."
        )
        settled = "a client on a machine of its own, more front-end processes, and the lag of both event loops"
        yield Finding("interpretation", "outside_engine", text, each(lost, _outside_words), settled)


def _is_outside(cell: CellSummary) -> bool:
    seen, engine = _seen_ms(cell), _engine_ms(cell)
    return seen is not None and engine is not None and seen > max(OUTSIDE * engine, engine + NOTICEABLE_MS)


def _seen_ms(cell: CellSummary) -> float | None:
    """Return the client's mean TTFT from the send, or a median where no mean is known."""
    times = cell.ttft_from_send_ms if cell.ttft_from_send_ms.n else cell.ttft_ms
    return times.p50 if times.mean is None else times.mean


def _engine_ms(cell: CellSummary) -> float | None:
    split = cell.latency_split
    return None if split is None or split.queue is None or split.prefill is None else split.queue + split.prefill


def _front_words(lost: Sequence[CellSummary]) -> str:
    """Say that it is the front end where its own clock shows most of the time already."""
    fronts = [cell.engine_ttft_ms.mean for cell in lost if cell.engine_ttft_ms is not None and cell.engine_ttft_ms.mean]
    seen = [_seen_ms(cell) or 0.0 for cell in lost]
    if len(fronts) < len(lost) or any(front < time / OUTSIDE for front, time in zip(fronts, seen, strict=True)):
        return ""
    return (
        " The front end's own clock shows most of it already, so it passes in the front end, on the way to the engine "
        "or back."
    )


def _outside_words(cell: CellSummary) -> str:
    front = cell.engine_ttft_ms
    beside = "" if front is None or front.mean is None else f"; to the front end's first token {number(front.mean)} ms"
    return f"client's TTFT {number(_seen_ms(cell) or 0)} ms, queue + prefill {number(_engine_ms(cell) or 0)} ms{beside}"
