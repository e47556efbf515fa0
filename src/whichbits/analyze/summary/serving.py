"""Which arm to serve in which range of load, and up to which load it holds its SLO."""

from dataclasses import dataclass

from whichbits.analyze.summary.metric import Metric


@dataclass(frozen=True)
class Recommendation:
    """The answer in one line for one metric: which arm in which range of load."""

    metric: Metric
    ranges: tuple[tuple[str, float | None, float | None], ...]
    """(arm, from load, to load); None is the end of the measured range."""
    text: str
    uncertain: tuple[tuple[float, float] | None, ...] = ()
    """For each handover between ranges the loads within which either arm may be the better; None: not placed."""


@dataclass(frozen=True)
class SloCapacity:
    """The highest load at which an arm holds the SLO for ``share`` of its requests.

    ``load`` is None if the lowest load breaks it. ``low`` and ``high`` bound it with 95 % confidence: ``low`` is None
    if even the lowest load is not sure to hold, ``high`` if the highest is not sure to break.
    """

    arm: str
    share: float
    load: float | None
    low: float | None
    high: float | None
    beyond: bool
    """True if the highest load measured still holds: ``load`` is that load, and more may be possible."""
    cost_per_million_tokens: float | None = None
    """What a million output tokens cost at ``load``; None without a price."""
