"""Does what a client sees pass in the engine at all: first tokens, the load, single tokens?"""

from collections.abc import Iterator, Sequence

from whichbits.analyze.findings.observed import Observed, each, number, places
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.amounts import amount
from whichbits.language.phrase import phrase

OUTSIDE = 2.0
"""Times that the client's TTFT exceeds the engine's queue and prefill together."""
NOTICEABLE_MS = 100.0
SHORTEST_STEP_MS = 0.5
BUNCHED = 4.0
REACHED = 0.8
FEWEST_SCRAPES = 5
"""A peak over fewer looks may have been missed."""


def outside_engine(observed: Observed) -> Iterator[Finding]:
    """Name cells whose first tokens spend most of their time neither in the engine's queue nor in its prefill."""
    lost = [cell for cell in observed.done if _is_outside(cell)]
    if lost:
        text = phrase(
            "Most of TTFT passes outside the engine in {places}: neither in its queue nor in its prefill, "
            "but in the client, the network or the HTTP front end (tokenising, streaming).{front_words} No "
            "kernel changes that; which arm leads in TTFT there says little of its bits.",
            places=places(lost),
            front_words=_front_words(lost),
        )
        settled = phrase("a client on a machine of its own, more front-end processes, and the lag of both event loops")
        yield Finding("interpretation", "outside_engine", text, each(lost, _outside_words), settled)


def load_not_reached(observed: Observed) -> Iterator[Finding]:
    """Name closed-loop cells of which the engines never held as many requests as there were streams."""
    short = [cell for cell in observed.done if _is_short(cell)]
    if short:
        text = phrase(
            "The load did not reach the engines in {places}: they never held as many requests, running or "
            "waiting, as there were streams. A pool of connections (often 100), a proxy or the front end "
            "holds the others back; the cell measures a lower load than its name says.",
            places=places(short),
        )
        settled = phrase("connections and requests in flight, counted at each hop from client to engine")
        yield Finding("observed", "load_not_reached", text, each(short, _held_words), settled)


def bursts(observed: Observed) -> Iterator[Finding]:
    """Name cells whose tokens arrive in bursts, so that ITL says how they are delivered and not how they are made."""
    bunched = [cell for cell in observed.done if comes_in_bursts(cell)]
    if bunched:
        text = phrase(
            "Tokens arrive in bursts in {places}: most gaps are far shorter than any step. Something between "
            "engine and client collects them. ITL is that of the delivery there; TPOT still holds.",
            places=places(bunched),
        )
        lines = each(
            bunched,
            lambda cell: phrase(
                "ITL median {p50:.3f} ms, mean {mean} ms", p50=cell.itl_ms.p50, mean=number(cell.itl_ms.mean or 0)
            ),
        )
        yield Finding("observed", "bursts", text, lines, phrase("the engine's own inter-token latency"))


def comes_in_bursts(cell: CellSummary) -> bool:
    """Say whether the median gap is shorter than any step and far below the mean."""
    middle, mean = cell.itl_ms.p50, cell.itl_ms.mean
    return middle is not None and mean is not None and middle < SHORTEST_STEP_MS and mean > BUNCHED * middle


def _is_short(cell: CellSummary) -> bool:
    running, waiting, streams = cell.requests_running, cell.requests_waiting, cell.concurrency
    if running is None or waiting is None or streams is None or cell.request_rate is not None:
        return False
    enough = running.n >= FEWEST_SCRAPES and cell.requests >= streams
    return enough and running.peak + waiting.peak < REACHED * streams


def _held_words(cell: CellSummary) -> str:
    running, waiting = cell.requests_running, cell.requests_waiting
    held = (0 if running is None else running.peak) + (0 if waiting is None else waiting.peak)
    return phrase(
        "at most {held:g} of {requests} in the engines", held=held, requests=amount(cell.concurrency or 0, "request")
    )


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
    return phrase(
        " The front end's own clock shows most of it already, so it passes in the front end, on the way "
        "to the engine or back."
    )


def _outside_words(cell: CellSummary) -> str:
    front = cell.engine_ttft_ms
    beside = (
        ""
        if front is None or front.mean is None
        else phrase("; to the front end's first token {mean} ms", mean=number(front.mean))
    )
    return phrase(
        "client's TTFT {seen_ms} ms, queue + prefill {engine_ms} ms{beside}",
        seen_ms=number(_seen_ms(cell) or 0),
        engine_ms=number(_engine_ms(cell) or 0),
        beside=beside,
    )
