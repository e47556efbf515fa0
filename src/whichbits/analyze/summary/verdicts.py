"""What a summary concludes, as types: what became of predictions, and the answer by regime."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ScoredPrediction:
    """A prediction of the study, as written, and what became of it.

    ``undecided``: an interval covers both outcomes. None: a value that it needs is not known.
    """

    text: str
    verdict: Literal["true", "false", "undecided"] | None
    measured: str
    """The numbers that decide it, in words."""
    value: float | None = None
    """The quantity, or the ratio of the two sides (the one predicted to be smaller over the other)."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Regime:
    """Which arm to serve in one regime, at the load at which it was judged.

    ``arm`` is None where nothing says which, or where it depends. ``level_with`` are arms that the numbers do not tell
    from it. ``lead`` 0.2 is 20 % over the next arm.
    """

    regime: Literal["low_load", "high_load_latency", "high_load_throughput"]
    arm: str | None
    text: str
    metric: str | None = None
    load: float | None = None
    level_with: tuple[str, ...] = ()
    next_best: str | None = None
    lead: float | None = None


@dataclass(frozen=True)
class Answer:
    """The recommendation by regime, what it holds for, what would flip it, and what is not known."""

    regimes: tuple[Regime, ...]
    holds_for: dict[str, str | None]
    would_flip: tuple[str, ...]
    not_known: tuple[str, ...]
