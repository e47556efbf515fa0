"""Rungs as a test wants them."""

from whichbits.conduct.self_test.rung import Errors, Rung
from whichbits.record.schema import ClientVerdict
from whichbits.serve.mock.settings import Cadence


def rung(
    error_ms: float | None = 0.1,
    streams: int = 32,
    verdict: ClientVerdict = "client_ok",
    mock_lag_ms: float = 0.1,
    cadence: Cadence = "spread",
) -> Rung:
    return Rung(
        cadence=cadence,
        streams=streams,
        tokens_per_s=streams * 50.0,
        errors=None if error_ms is None else Errors(0.0, error_ms, 0.0, error_ms / 2),
        cpu_us_per_token=10.0,
        mock_lag_p99_ms=mock_lag_ms,
        verdict=verdict,
        reasons=(),
        failed=0 if error_ms is not None else 1,
    )
