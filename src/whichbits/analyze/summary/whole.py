"""The whole of summary.json."""

from dataclasses import dataclass
from typing import Literal

from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.quality.measures import Quality
from whichbits.analyze.summary.arm import ArmSummary
from whichbits.analyze.summary.cell import CellSummary
from whichbits.analyze.summary.crossover import Crossover
from whichbits.analyze.summary.finding import Finding
from whichbits.analyze.summary.serving import Recommendation, SloCapacity
from whichbits.analyze.summary.verdicts import Answer, ScoredPrediction


@dataclass(frozen=True)
class Summary:
    """The whole of summary.json."""

    schema_version: int
    source: str
    study: str
    run: str
    interrupted: bool
    load_unit: Literal["concurrency", "request_rate"]
    arms: dict[str, ArmSummary]
    cells: tuple[CellSummary, ...]
    crossovers: tuple[Crossover, ...]
    findings: tuple[Finding, ...]
    predictions: tuple[ScoredPrediction, ...] = ()
    recommendation: tuple[Recommendation, ...] = ()
    crossovers_by_capacity: tuple[Crossover, ...] = ()
    """The same pairs at equal shares of each arm's own capacity, its highest output throughput."""
    slo_capacities: tuple[SloCapacity, ...] = ()
    profiles: tuple[Profile, ...] = ()
    """Time by kind of kernel, of arms and loads that were profiled."""
    answer: Answer | None = None
    quality: Quality | None = None
    """What the bits cost in answers; None where the study did not ask."""
