"""What a client showed against the mock's truth: a row of numbers, whatever client it was.

Gaps are compared by their position in the answer, and only while all streams run: from the last stream's first token
to the first stream's last. An error of ITL is the absolute difference between a gap as shown and as sent. An error of
TTFT is what the client shows beyond the server's own, from the request's arrival to the first send.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from peers.orders import Result, Seen

from whichbits.conduct.self_test.compare import lateness_ms
from whichbits.serve.mock.engine.truth import TrueRequest

SHORT_MS = 1.0
_MS = 1e3
_NS_PER_MS = 1e6


@dataclass(frozen=True)
class Row:
    """One cell of one client; times are ms. ``failed`` requests are in no number."""

    tokens_per_s: float
    cpu_us: float
    itl_error_p50: float
    itl_error_p99: float
    ttft_error_p50: float
    ttft_error_p99: float
    itl_p50: float
    short_share: float
    mock_lag_p99: float
    failed: int
    verdict: str | None


def row(result: Result, truth: Mapping[int, TrueRequest]) -> Row:
    """Compare; ``truth`` holds the requests of this cell alone."""
    sent = {index: np.asarray(request.chunk_ns) / _NS_PER_MS for index, request in truth.items()}
    window = max(times[0] for times in sent.values()), min(times[-1] for times in sent.values())
    whole = [each for each in result.seen if len(each.itl_s) == len(sent[each.index]) - 1]
    shown, errors = _gaps(whole, sent, window)
    late = np.array([_MS * each.ttft_s - _server_ttft_ms(truth[each.index]) for each in whole])
    return Row(
        tokens_per_s=_rate(sent, window),
        cpu_us=result.cpu_s * 1e6 / sum(map(len, sent.values())),
        itl_error_p50=_percentile(errors, 50),
        itl_error_p99=_percentile(errors, 99),
        ttft_error_p50=_percentile(np.abs(late), 50),
        ttft_error_p99=_percentile(np.abs(late), 99),
        itl_p50=_percentile(shown, 50),
        short_share=float(np.mean(shown < SHORT_MS)) if len(shown) else float("nan"),
        mock_lag_p99=lateness_ms(truth.values()),
        failed=len(truth) - len(whole),
        verdict=result.verdict,
    )


def _gaps(
    seen: Sequence[Seen], sent: Mapping[int, "np.typing.NDArray[np.float64]"], window: tuple[float, float]
) -> tuple["np.typing.NDArray[np.float64]", "np.typing.NDArray[np.float64]"]:
    shown, errors = [], []
    for each in seen:
        times = sent[each.index]
        inside = (times[1:] >= window[0]) & (times[1:] <= window[1])
        gaps = _MS * np.asarray(each.itl_s)
        shown.append(gaps[inside])
        errors.append(np.abs(gaps - np.diff(times))[inside])
    return np.concatenate(shown), np.concatenate(errors)


def _server_ttft_ms(request: TrueRequest) -> float:
    return (request.sent_ns[0] - request.received_ns) / _NS_PER_MS


def _rate(sent: Mapping[int, "np.typing.NDArray[np.float64]"], window: tuple[float, float]) -> float:
    """Return tokens a second while all streams run; 0 if a client began some so late that they never do."""
    if window[1] <= window[0]:
        return 0.0
    inside = sum(int(np.count_nonzero((times >= window[0]) & (times <= window[1]))) for times in sent.values())
    return inside / (window[1] - window[0]) * _MS


def _percentile(values: "np.typing.NDArray[np.float64]", percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else float("nan")
