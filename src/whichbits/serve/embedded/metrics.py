"""What the engine counts of itself, in vLLM's words under the prefix ``embedded:``, for Prometheus to read.

What the pipeline does not tell (prefix-cache hits, preemptions) has no series: absent is not 0.
"""

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from whichbits.serve.embedded.messages import FinishReason, Step

_SECONDS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0)
_TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class RequestClock:
    """When a request arrived, was first answered and ended."""

    def __init__(self, metrics: "EngineMetrics") -> None:
        """Start at the arrival."""
        self._metrics = metrics
        self._arrived_s = self._last_s = time.monotonic()
        self._answered = False

    def tokens(self, count: int) -> None:
        """Count what a step added to the answer."""
        now = time.monotonic()
        if self._answered:
            self._metrics.inter_token.observe(now - self._last_s)
        elif count:
            self._metrics.time_to_first_token.observe(now - self._arrived_s)
            self._answered = True
        self._last_s = now
        self._metrics.generation_tokens.inc(count)

    def finished(self, reason: FinishReason) -> None:
        """Count the end of the request."""
        self._metrics.finished.labels(finished_reason=reason).inc()
        self._metrics.end_to_end.observe(time.monotonic() - self._arrived_s)


class EngineMetrics:
    """All series of one server, in a registry of its own."""

    def __init__(self) -> None:
        """Register every series, so that a scrape before the first request shows them at 0."""
        registry = self._registry = CollectorRegistry()
        self.prompt_tokens = Counter("embedded:prompt_tokens", "Prompt tokens of arrived requests", registry=registry)
        self.generation_tokens = Counter("embedded:generation_tokens", "Generated tokens", registry=registry)
        self.finished = Counter(
            "embedded:request_success", "Ended requests by reason", ["finished_reason"], registry=registry
        )
        for reason in ("stop", "length", "abort"):
            self.finished.labels(finished_reason=reason)
        self.time_to_first_token = _seconds("time_to_first_token", "Arrival to first token", registry)
        self.inter_token = _seconds("inter_token_latency", "Between two steps with output of a request", registry)
        self.end_to_end = _seconds("e2e_request_latency", "Arrival to end of a request", registry)
        self.step_seconds = _seconds("step_time", "One step of the pipeline", registry)
        self.iteration_tokens = Histogram(
            "embedded:iteration_tokens", "Generated tokens a step", buckets=_TOKENS, registry=registry
        )
        self.running = Gauge("embedded:num_requests_running", "Requests in the last step", registry=registry)
        self.waiting = Gauge("embedded:num_requests_waiting", "Requests that wait for a step", registry=registry)
        self.kv_cache_usage = Gauge("embedded:kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1", registry=registry)
        self.kv_cache_tokens = Gauge("embedded:kv_cache_size_tokens", "KV cache capacity in tokens", registry=registry)

    def arrived(self, prompt_tokens: int) -> RequestClock:
        """Count an arrival and start its clock."""
        self.prompt_tokens.inc(prompt_tokens)
        return RequestClock(self)

    def stepped(self, step: Step) -> None:
        """Count one step of the pipeline."""
        self.step_seconds.observe(step.seconds)
        self.iteration_tokens.observe(_tokens(step))
        self.running.set(step.running)
        self.waiting.set(step.waiting)
        self.kv_cache_usage.set(step.kv_cache_usage)

    def exposition(self) -> bytes:
        """Return the text that ``/metrics`` answers."""
        return generate_latest(self._registry)


def _tokens(step: Step) -> int:
    return sum(len(output.tokens) for output in step.outputs)


def _seconds(stem: str, help_text: str, registry: CollectorRegistry, buckets: Sequence[float] = _SECONDS) -> Histogram:
    return Histogram(f"embedded:{stem}_seconds", help_text, buckets=buckets, registry=registry)
