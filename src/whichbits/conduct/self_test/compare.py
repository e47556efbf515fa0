"""What the client noted against what was sent, chunk by chunk."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from whichbits.conduct.self_test.rung import Errors
from whichbits.record.schema import RequestRecord
from whichbits.serve.mock.engine.truth import TrueRequest

Times = npt.NDArray[np.float64]
_NS = 1e6


def errors(records: Sequence[RequestRecord], truth: Mapping[int, TrueRequest]) -> Errors:
    """Return the errors of ITL and of TTFT; records and truth are on one clock, and ``truth`` goes by index.

    An error of ITL is that of one gap between two chunks of a request, and of TTFT that of the first chunk's time: what
    a client adds to it by reading late.
    """
    noted = [np.asarray(record.chunk_ns, dtype=np.int64) for record in records]
    true = [np.asarray(truth[record.index].chunk_ns, dtype=np.int64) for record in records]
    gaps = _pooled(np.diff(seen) - np.diff(sent) for seen, sent in zip(noted, true, strict=True))
    firsts = _pooled(seen[:1] - sent[:1] for seen, sent in zip(noted, true, strict=True))
    return Errors(*_quantiles(gaps), *_quantiles(firsts))


def lateness_ms(truth: Iterable[TrueRequest]) -> float:
    """Return the p99 of how much later than planned the mock sent.

    Sends that were due at one instant, as in a step, count from that of the first among them: one thread sends them one
    after the other.
    """
    due = np.concatenate([np.asarray(request.due_ns, dtype=np.int64) for request in truth])
    sent = np.concatenate([np.asarray(request.sent_ns, dtype=np.int64) for request in truth])
    if not len(due):
        return 0.0
    order = np.lexsort((sent, due))
    _, firsts = np.unique(due[order], return_index=True)
    return float(np.percentile((sent[order] - due[order])[firsts], 99)) / _NS


def _pooled(parts: Iterable[npt.NDArray[np.int64]]) -> Times:
    errors_ns = np.concatenate(list(parts)).astype(np.float64)
    return np.abs(errors_ns) / _NS


def _quantiles(values: Times) -> tuple[float, float]:
    p50, p99 = np.percentile(values, (50, 99))
    return float(p50), float(p99)
