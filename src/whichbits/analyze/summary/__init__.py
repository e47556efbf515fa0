"""summary.json as types: the stable face for scripts and the only thing reporters read besides the manifest.

Keys are only added, never renamed; a value that is unknown is ``None``. Times are milliseconds.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from whichbits.analyze.engine.cold_start import ColdStart
from whichbits.analyze.engine.telemetry import GpuTelemetry
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.latency.itl_modes import ItlModes
from whichbits.analyze.latency.prefill_steps import PrefillSteps
from whichbits.analyze.limits.capacity import Capacity
from whichbits.analyze.limits.roofline import Roofline
from whichbits.analyze.load.sending import ArrivalRates, Drain
from whichbits.analyze.load.steady import SteadyState
from whichbits.analyze.quality.measures import Quality
from whichbits.analyze.summary.verdicts import Answer, ScoredPrediction

Metric = Literal[
    "tpot_ms.p50",
    "tpot_ms.mean",
    "tpot_ms.p90",
    "tpot_ms.p99",
    "itl_ms.p50",
    "itl_ms.p99",
    "ttft_ms.p50",
    "ttft_ms.p90",
    "ttft_ms.p99",
    "e2e_ms.p50",
    "e2e_ms.p99",
    "output_tokens_per_s",
    "goodput_requests_per_s",
    "cost_per_million_tokens",
]
LoadUnit = Literal["concurrency", "request_rate", "share_of_capacity"]
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
class Estimate:
    """A quantile from buckets: the sample lies above ``low``, at or below ``high``; ``value`` interpolates.

    ``value`` and ``high`` are None if it lies above the last bucket's bound.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class EngineTimes:
    """Times that engines observed; the mean is exact, the quantiles have their bucket error."""

    n: int
    mean: float | None
    p50: Estimate
    p99: Estimate


@dataclass(frozen=True)
class EngineLevel:
    """An engine's state over ``n`` scrapes during a cell."""

    peak: float
    mean: float
    n: int


@dataclass(frozen=True)
class LatencySplit:
    """Where a request's time goes, as means in ms; what either side does not say is None.

    The engines' stages lie one after another: ``queue`` until a request is scheduled, ``prefill`` until its first
    token, ``decode`` until its last. ``before_send`` is the client's wait for a free slot (scheduled to sent);
    ``outside`` is what remains of the client's TTFT: network, HTTP, tokenising, and the way back of the first token.
    """

    before_send: float | None
    queue: float | None
    prefill: float | None
    decode: float | None
    outside: float | None
    queue_share_of_ttft: float | None
    """Queue / (queue + prefill), both by the engines."""


@dataclass(frozen=True)
class TtftByCache:
    """TTFT of requests at least half of whose prompt came from the prefix cache, and of the others, in ms."""

    hits: Distribution
    misses: Distribution


@dataclass(frozen=True)
class ReplicaSummary:
    """One replica's part of a cell; ``share`` is its part of the requests, ``engines`` its cores if it has several.

    Counts of the prefix cache are tokens, None if the engine counts blocks of a size that it does not tell.
    """

    replica: str
    requests: int | None
    share: float | None
    prompt_tokens: int | None
    prefix_queries: int | None
    prefix_hits: int | None
    hit_rate: float | None
    engines: tuple["ReplicaSummary", ...] = ()


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
    """95 % intervals by address (``tpot_ms.p50``): what the requests of this one cell leave open.

    Of a predicted cell: what the uncertainty of the predictor's constants leaves open.
    """
    replicas: tuple[ReplicaSummary, ...] = ()
    prefix_queries: int | None = None
    prefix_hits: int | None = None
    expected_prefix_hit_rate: tuple[float, float] | None = None
    """Lowest and highest that the planned traffic explains."""
    hit_rate_as_expected: bool | None = None
    """True proves a cache that was to be cold; None if the measured or the expected rate is not known."""
    engine_queue_ms: EngineTimes | None = None
    engine_prefill_ms: EngineTimes | None = None
    engine_decode_ms: EngineTimes | None = None
    engine_ttft_ms: EngineTimes | None = None
    engine_itl_ms: EngineTimes | None = None
    requests_running: EngineLevel | None = None
    requests_waiting: EngineLevel | None = None
    kv_cache_usage: EngineLevel | None = None
    engine_output_tokens_per_s: EngineLevel | None = None
    preemptions: int | None = None
    mean_context_tokens: float | None = None
    """Tokens that a decoding request has in the KV cache, averaged over all decode steps."""
    itl_modes: ItlModes | None = None
    prefill_steps: PrefillSteps | None = None
    roofline: Roofline | None = None
    gpu: GpuTelemetry | None = None
    """Of servers that were started on this machine's NVIDIA GPUs."""
    latency_split: LatencySplit | None = None
    ttft_by_cache: TtftByCache | None = None
    """None where requests do not tell how much of their prompt was cached."""
    definitions: dict[str, str] = field(default_factory=dict)
    """Of an imported cell, what each metric means (``record.definitions``), by holder (``ttft_ms``)."""
    block: int | None = None
    """The step of a search that the cell belongs to; cells of one block met the same server starts."""
    cost_per_million_tokens: float | None = None
    """Of output tokens, at the arm's price per hour; None without a price."""
    token_count_source: str | None = None
    """Who counted output tokens: `usage`, or what was asked where answers came without; None if not measured here."""
    e2e_from_send_ms: Distribution | None = None
    send_wait_ms: Distribution | None = None
    """From scheduled to sent: under a cap the wait for a slot, else the client's own lag."""
    mean_concurrency: float | None = None
    """Requests in flight, averaged over ``duration_s``."""
    steady: SteadyState | None = None
    """The stretch that ``steady_output_tokens_per_s`` is of, or why there is none."""
    drain: Drain | None = None
    arrival_rates: ArrivalRates | None = None
    """None in a closed loop."""


@dataclass(frozen=True)
class Crossing:
    """A load at which the better arm changes; ``low`` to ``high`` is its 95 % interval, None if not estimated."""

    load: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Lead:
    """Which arm leads at a load and by how much: ``by`` 0.24 is 24 %; ``low`` to ``high`` is its 95 % interval.

    ``arm`` is ahead in the estimate; where ``low`` is below zero, it may in truth be behind.
    """

    load: float
    arm: str
    by: float
    low: float
    high: float


@dataclass(frozen=True)
class Crossover:
    """Where two arms trade places for one metric, over the loads that both served."""

    metric: Metric
    arms: tuple[str, str]
    verdict: CrossoverVerdict
    crossings: tuple[Crossing, ...]
    leader_low_load: str | None
    leader_high_load: str | None
    load_unit: LoadUnit
    loads: tuple[float, ...]
    ratios: tuple[float, ...]
    """First arm's value over the second's at each load; below 1 the first is lower."""
    note: str | None = None
    ratio_intervals: tuple[tuple[float, float], ...] = ()
    """95 % interval of each ratio."""
    lead: tuple[Lead, ...] = ()
    """At the lowest and at the highest load."""
    repeats: int | None = None
    repeats_needed: int | None = None
    """How many more would settle a noisy comparison; None if it is settled, or if too many."""
    margin: float | None = None
    """Arms whose ratio lies within 1 + margin, either way, are taken as equal."""
    spread_assumed: bool = False
    """True if there is one repeat only: how much repeats differ is then assumed, not measured."""


@dataclass(frozen=True)
class Finding:
    """A statement with its evidence."""

    kind: Literal["observed", "interpretation", "unresolved"]
    code: str
    text: str
    evidence: tuple[str, ...] = ()
    settled_by: str | None = None
    """The measurement that would settle an interpretation, or what is unresolved."""


@dataclass(frozen=True)
class WarmUp:
    """How an arm was warmed before its first cell of its last visit; what older runs did not keep is None."""

    rounds_ms: tuple[float, ...]
    """Median TPOT of each round, or TTFT where answers had a single token."""
    stable: bool | None
    """False if it gave up before two rounds agreed."""
    seconds: float | None


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
    cold_start: ColdStart | None = None
    warm_up: WarmUp | None = None
    """None if it was not warmed: predicted, or imported."""


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
