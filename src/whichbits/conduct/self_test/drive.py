"""Driving one rung: mocks in processes of their own, the client as every study uses it, then the truth."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from whichbits.conduct.self_test.compare import errors, lateness_ms
from whichbits.conduct.self_test.rung import Rung
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.crew.crew import Crew
from whichbits.drive.target import Target
from whichbits.hardware.open_files import raise_soft_limit
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.mock.engine.truth import TrueRequest, TruthPage
from whichbits.serve.mock.fleet import mocks
from whichbits.serve.mock.settings import MODEL, Cadence, MockSettings
from whichbits.study.model import Limits, Load
from whichbits.traffic.request import PlannedRequest

ITL_MS = 20.0
"""The cadence of a token that is read as fast as people can: 50 a second."""
_FEWEST_TOKENS = 8
_OTHER_FILES = 256
_TTFT_MS, _TTFT_MS_PER_STREAM = 200.0, 0.75
"""So long that the burst in which all requests leave is over by then, and small beside it: a rung is about tokens."""


@dataclass(frozen=True)
class Order:
    """One rung to drive. ``processes`` are mocks; ``seconds`` is how long tokens come."""

    cadence: Cadence
    streams: int
    seconds: float
    processes: int = 1


async def drive_rung(order: Order, crew: Crew) -> Rung:
    """Drive a rung and compare. Raises ServerNotReady if a mock does not start or answer."""
    raise_soft_limit()
    ttft_ms = _TTFT_MS + _TTFT_MS_PER_STREAM * order.streams
    settings = MockSettings(itl_ms=ITL_MS, ttft_ms=ttft_ms, cadence=order.cadence)
    tokens = max(_FEWEST_TOKENS, round(order.seconds * 1000 / ITL_MS))
    planned = [PlannedRequest(index, (index, 1, 2), tokens, None) for index in range(order.streams)]
    with mocks([0] * order.processes, settings) as urls:
        targets = [_target(url) for url in urls]
        capture = await drive_cell(targets, planned, Load(concurrency=order.streams), Limits(), 0, crew=crew)
        truth = {request.prompt_head[0]: request for url in urls for request in await _truth(url)}
    return _rung(order, capture, truth)


def _target(url: str) -> Target:
    parts = urlsplit(url)
    return Target(parts.hostname or "", parts.port or 0, MODEL)


async def _truth(url: str) -> Sequence[TrueRequest]:
    async with ControlClient(url, timeout_seconds=60.0) as control:
        return msgspec.convert(await control.json("/truth"), TruthPage).requests


def _rung(order: Order, capture: CellCapture, truth: Mapping[int, TrueRequest]) -> Rung:
    failed = sum(not record.succeeded for record in capture.records)
    return Rung(
        cadence=order.cadence,
        streams=order.streams,
        tokens_per_s=_rate(truth),
        errors=None if failed else errors(capture.records, truth),
        cpu_us_per_token=_cpu_us(capture, sum(len(request.sent_ns) for request in truth.values())),
        mock_lag_p99_ms=lateness_ms(truth.values()),
        verdict=capture.health.verdict,
        reasons=capture.health.reasons,
        failed=failed,
    )


def _cpu_us(capture: CellCapture, tokens: int) -> float | None:
    """Return the CPU time of a token, as if every worker had used as much as the busiest."""
    share, workers = capture.health.cpu_share, capture.health.workers
    if share is None or workers is None or not tokens:
        return None
    return share * workers * (capture.finished_ns - capture.started_ns) / 1e3 / tokens


def _rate(truth: Mapping[int, TrueRequest]) -> float:
    """Return tokens a second from the first send to the last."""
    sent = [request.sent_ns for request in truth.values() if request.sent_ns]
    if not sent:
        return 0.0
    span_ns = max(times[-1] for times in sent) - min(times[0] for times in sent)
    return sum(len(times) for times in sent) * 1e9 / span_ns if span_ns else 0.0


def room_for_streams() -> int:
    """Raise this process's limit of open files to what it may have, and return the streams that leaves room for."""
    allowed = raise_soft_limit().soft
    return sys.maxsize if allowed is None else allowed - _OTHER_FILES
