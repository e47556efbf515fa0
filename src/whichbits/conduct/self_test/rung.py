"""One rung of the ladder: so many streams at a cadence, what the client saw of them, and what was true."""

from dataclasses import dataclass
from typing import Literal

from whichbits.record.schema import ClientVerdict
from whichbits.serve.mock.settings import Cadence

EXACT_MS = 1.0
"""p99 of the error of ITL and of TTFT up to which times count as exact: the milliseconds that reports show."""
COARSE_MS = 5.0
"""The same up to which they are of use: a quarter of the 20 ms of a token that a reader waits for."""
LATE_MOCK_MS = 1.0
"""p99 of the mock's own lateness from which on a rung says nothing against the client."""

Judgement = Literal["exact", "coarse", "late", "limited", "mock_late", "failed"]


@dataclass(frozen=True)
class Errors:
    """How far the client's times are from the truth, in ms; p50 and p99 of the absolute error."""

    itl_p50: float
    itl_p99: float
    ttft_p50: float
    ttft_p99: float

    @property
    def worst_p99(self) -> float:
        """The larger p99."""
        return max(self.itl_p99, self.ttft_p99)


@dataclass(frozen=True)
class Rung:
    """``tokens_per_s`` is what the mock sent, ``mock_lag_p99_ms`` how late it was against its own schedule.

    ``errors`` is None where requests failed: of them there is no truth to compare with.
    """

    cadence: Cadence
    streams: int
    tokens_per_s: float
    errors: Errors | None
    cpu_us_per_token: float | None
    mock_lag_p99_ms: float
    verdict: ClientVerdict
    reasons: tuple[str, ...]
    failed: int = 0

    @property
    def mock_was_late(self) -> bool:
        """Whether the mock missed its own schedule; in step, its sends follow each other, and that is no lateness."""
        return self.mock_lag_p99_ms > LATE_MOCK_MS

    @property
    def judgement(self) -> Judgement:
        """What the rung says of the client."""
        if self.errors is None:
            return "mock_late" if self.mock_was_late else "failed"
        if self.errors.worst_p99 > COARSE_MS:
            return "mock_late" if self.mock_was_late else "late"
        if self.verdict != "client_ok":
            return "mock_late" if self.mock_was_late else "limited"
        return "exact" if self.errors.worst_p99 <= EXACT_MS else "coarse"

    @property
    def holds(self) -> bool:
        """Whether the client kept up and said so."""
        return self.judgement in ("exact", "coarse")

    @property
    def verdict_right(self) -> bool:
        """Whether the client called itself good only where it was: an error beyond COARSE_MS is not to be called ok."""
        return self.verdict != "client_ok" or (self.errors is not None and self.errors.worst_p99 <= COARSE_MS)
