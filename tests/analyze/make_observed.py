"""What findings look at, made by hand: quiet cells and arms in which no rule has anything to say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.analyze.make_cell import summary
from tests.record.make_run import manifest
from whichbits.analyze.findings import Check, Observed
from whichbits.analyze.limits.capacity import Capacity, Demand, Pool, capacity
from whichbits.analyze.summary import (
    ArmSummary,
    CellSummary,
    Distribution,
    EngineLevel,
    EngineTimes,
    Estimate,
    Finding,
    LatencySplit,
)
from whichbits.record.schema import Manifest

UNKNOWN = Distribution(0, None, None, None, None)


def arm(name: str = "w4a16", weight_format: str = "w4a16", **facts: Any) -> ArmSummary:
    """An arm of vLLM of whose start a log was read."""
    return ArmSummary(
        arm=name,
        weight_format=weight_format,
        engine="vllm",
        engine_version="0.25.1",
        model="qwen",
        kernel=facts.get("quant_kernels"),
        weights_gib=5.27,
        kv_cache_tokens=269_824,
        load_seconds=None,
        init_seconds=facts.get("init_engine_seconds"),
        facts=facts,
    )


def cell(name: str = "w4a16", load: int = 8, **numbers: Any) -> CellSummary:
    """A quiet cell: ten waves of answers of 100 tokens, all times alike."""
    plain = summary(name, load, 10.0)
    quiet = replace(plain, requests=10 * load, output_tokens=1000 * load, prompt_tokens=1000 * load, mean_batch=load)
    silent = replace(quiet, peak_concurrency=load, steady_output_tokens_per_s=10.0, prefix_hit_rate=0.0)
    bare = replace(silent, itl_modes=None, prefill_steps=None, ttft_by_cache=None)
    return replace(bare, **numbers)


def observed(
    arms: Sequence[ArmSummary], cells: Sequence[CellSummary] = (), study: dict[str, Any] | None = None, **of_run: Any
) -> Observed:
    numbered = tuple(replace(each, cell=number) for number, each in enumerate(cells))
    run: Manifest = replace(manifest(), study=study or {}, **of_run)
    return Observed(run, numbered, arms={each.arm: each for each in arms})


def found(check: Check, seen: Observed) -> list[Finding]:
    return list(check(seen))


def level(peak: float) -> EngineLevel:
    return EngineLevel(peak, peak, 10)


def times(mean: float) -> EngineTimes:
    nothing = Estimate(None, None, None)
    return EngineTimes(100, mean, nothing, nothing)


def split(queue: float, prefill: float, decode: float) -> LatencySplit:
    return LatencySplit(0.0, queue, prefill, decode, 1.0, queue / (queue + prefill))


def room(tokens: int, concurrency: float, prefixes: int | None = None, **pool: Any) -> Capacity:
    """A replica's room for requests of 3,168 tokens, whose prefixes have 3,072."""
    demand = Demand(3136, 32, concurrency, prefixes, 3072 if prefixes else None)
    return capacity(Pool(tokens=tokens, **pool), demand)
