"""summary.json as types: the stable face for scripts and the only thing reporters read besides the manifest.

Keys are only added, never renamed; a value that is unknown is ``None``. Times are milliseconds.
"""

from whichbits.analyze.engine.replicas import ReplicaSummary
from whichbits.analyze.engine.view import EngineLevel, EngineTimes, Estimate
from whichbits.analyze.latency.split import LatencySplit, TtftByCache
from whichbits.analyze.latency.times import Distribution
from whichbits.analyze.summary.arm import ArmSummary, WarmUp
from whichbits.analyze.summary.cell import CellSummary
from whichbits.analyze.summary.crossover import Crossing, Crossover, CrossoverVerdict, Lead
from whichbits.analyze.summary.finding import Finding
from whichbits.analyze.summary.metric import LoadUnit, Metric
from whichbits.analyze.summary.serving import LeftOut, Recommendation, SloCapacity
from whichbits.analyze.summary.whole import Summary

__all__ = [
    "ArmSummary",
    "CellSummary",
    "Crossing",
    "Crossover",
    "CrossoverVerdict",
    "Distribution",
    "EngineLevel",
    "EngineTimes",
    "Estimate",
    "Finding",
    "LatencySplit",
    "Lead",
    "LeftOut",
    "LoadUnit",
    "Metric",
    "Recommendation",
    "ReplicaSummary",
    "SloCapacity",
    "Summary",
    "TtftByCache",
    "WarmUp",
]
