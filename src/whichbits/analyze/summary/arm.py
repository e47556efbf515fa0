"""What is known of an arm."""

from dataclasses import dataclass, field
from typing import Any

from whichbits.analyze.engine.cold_start import ColdStart
from whichbits.analyze.limits.capacity import Capacity


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
