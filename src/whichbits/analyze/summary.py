"""summary.json as types: the stable face for scripts and the only thing reporters read besides the manifest.

Keys are only added, never renamed; a value that is unknown is ``None``. Times are milliseconds.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from whichbits.analyze.capacity import Capacity
from whichbits.analyze.itl_modes import ItlModes
from whichbits.analyze.prefill_steps import PrefillSteps
from whichbits.analyze.roofline import Roofline

Metric = Literal["tpot_ms.p50", "tpot_ms.p99", "ttft_ms.p50", "output_tokens_per_s"]
CrossoverVerdict = Literal["crosses", "none", "tie", "noisy"]


@dataclass(frozen=True)
class Distribution:
    """A sample of times; percentiles interpolate linearly. ``thin`` names those with < 10 samples beyond."""

    n: int
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    thin: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellSummary:
    """One cell in numbers. ``steady_*`` cover the steady window, their twins the whole cell."""

    cell: int
    arm: str
    concurrency: int | None
    request_rate: float | None
    repeat: int
    state: str
    requests: int
    failed: int
    errors: dict[str, int]
    client_verdict: str | None
    ttft_ms: Distribution
    ttft_from_send_ms: Distribution
    tpot_ms: Distribution
    itl_ms: Distribution
    e2e_ms: Distribution
    excluded_from_tpot: int
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int
    duration_s: float | None
    output_tokens_per_s: float | None
    total_tokens_per_s: float | None
    requests_per_s: float | None
    steady_output_tokens_per_s: float | None
    mean_batch: float | None
    peak_concurrency: int | None
    prefix_hit_rate: float | None
    goodput_requests_per_s: float | None = None
    slo_share: float | None = None
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    mean_context_tokens: float | None = None
    """Tokens that a decoding request has in the KV cache, averaged over all decode steps."""
    itl_modes: ItlModes | None = None
    prefill_steps: PrefillSteps | None = None
    roofline: Roofline | None = None


@dataclass(frozen=True)
class Crossing:
    """A load at which the better arm changes; ``low`` to ``high`` is its interval, None if not estimated."""

    load: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Crossover:
    """Where two arms trade places for one metric, over the loads that both served."""

    metric: Metric
    arms: tuple[str, str]
    verdict: CrossoverVerdict
    crossings: tuple[Crossing, ...]
    leader_low_load: str | None
    leader_high_load: str | None
    load_unit: Literal["concurrency", "request_rate"]
    loads: tuple[float, ...]
    ratios: tuple[float, ...]
    """First arm's value over the second's at each load; below 1 the first is lower."""
    note: str | None = None


@dataclass(frozen=True)
class Finding:
    """A statement with its evidence."""

    kind: Literal["observed", "interpretation", "unresolved"]
    code: str
    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArmSummary:
    """What is known of an arm; None where the engine did not say."""

    arm: str
    weight_format: str
    engine: str
    engine_version: str | None
    model: str | None
    kernel: str | None
    weights_gib: float | None
    kv_cache_tokens: int | None
    load_seconds: float | None
    init_seconds: float | None
    facts: dict[str, Any] = field(default_factory=dict)
    capacity: Capacity | None = None


@dataclass(frozen=True)
class Recommendation:
    """The answer in one line for one metric: which arm in which range of load."""

    metric: Metric
    ranges: tuple[tuple[str, float | None, float | None], ...]
    """(arm, from load, to load); None is the end of the measured range."""
    text: str


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
    predictions: tuple[Any, ...] = ()
    recommendation: tuple[Recommendation, ...] = ()
