"""Which arm to serve in which range of load, and up to which load it holds its SLO."""

from dataclasses import dataclass

from whichbits.analyze.summary.metric import Metric


@dataclass(frozen=True)
class LeftOut:
    """A load that was asked but is not compared, or not by all repeats: ``repeats`` of ``of`` are left out."""

    load: float
    why: str
    repeats: int
    of: int


@dataclass(frozen=True)
class Recommendation:
    """The answer in one line for one metric: which arm in which range of load."""

    metric: Metric
    ranges: tuple[tuple[str, float | None, float | None], ...]
    """(arm, from load, to load); None is the end of the measured range."""
    text: str
    uncertain: tuple[tuple[float, float] | None, ...] = ()
    """For each handover between ranges the loads within which either arm may be the better; None: not placed."""
    undecided: tuple[tuple[float, float] | None, ...] = ()
    """For each handover that no crossing places, the loads over which neither of its arms is told from the other."""
    stretches: tuple[tuple[tuple[str, ...], float | None, float | None], ...] = ()
    """(arms, from load, to load): the ranges, and between them where nothing tells which of two arms leads."""
    loads: tuple[float, ...] = ()
    """The loads that were compared, in rising order."""
    left_out: tuple[LeftOut, ...] = ()
    """The loads that all these arms met and that are not compared, whole or in part."""
    level_with: tuple[str, ...] = ()
    """For each stretch the arms that its arm is not told apart from, and at which loads, in words; empty for none."""


@dataclass(frozen=True)
class SloCapacity:
    """The highest load at which an arm holds the SLO for ``share`` of its requests.

    ``load`` is None if the lowest load that can be used breaks it. ``low`` and ``high`` bound it with 95 % confidence:
    ``low`` is None if even the lowest load is not sure to hold, ``high`` if the highest is not sure to break; where
    the lowest is sure to break, ``high`` is that load.
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
    left_out: tuple[LeftOut, ...] = ()
    """The loads that the arm met and that are not used, whole or in part."""
    lowest: float | None = None
    """The lowest load that can be used."""
