"""One cell in numbers."""

from dataclasses import dataclass, field

from whichbits.analyze.engine.replicas import ReplicaSummary
from whichbits.analyze.engine.telemetry import GpuTelemetry
from whichbits.analyze.engine.view import EngineLevel, EngineTimes
from whichbits.analyze.latency.itl_modes import ItlModes
from whichbits.analyze.latency.prefill_steps import PrefillSteps
from whichbits.analyze.latency.split import LatencySplit, TtftByCache
from whichbits.analyze.latency.times import Distribution
from whichbits.analyze.limits.roofline import Roofline
from whichbits.analyze.load.sending import ArrivalRates, Drain
from whichbits.analyze.load.steady import SteadyState


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
    slo_misses_at_start: int | None = None
    """Of a closed loop's opening wave, the one request a stream that is sent at once, how many are not good."""
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

    @property
    def served(self) -> int:
        """Requests that succeeded: neither failed nor cut off by the user's stop."""
        return max(0, self.requests - self.failed - self.errors.get("cancelled", 0))
