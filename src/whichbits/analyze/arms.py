"""What is known of each arm, picked from what its replicas and its checkpoint say."""

from collections.abc import Mapping
from typing import Any

from whichbits.analyze.engine.cold_start import cold_start
from whichbits.analyze.summary import ArmSummary, WarmUp
from whichbits.record.schema import ArmRecord, Manifest

Value = str | int | float | bool | None


def arm_summary(manifest: Manifest, record: ArmRecord) -> ArmSummary:
    """Read an arm's facts; what nobody said is None. Replicas are launched alike, so the first one speaks."""
    facts = _facts(record)
    asked: Mapping[str, Any] = manifest.study.get("arms", {}).get(record.arm, {})
    return ArmSummary(
        arm=record.arm,
        weight_format=record.weight_format,
        engine=record.engine,
        engine_version=_text(facts.get("engine_version")),
        model=_text(asked.get("model", facts.get("model"))),
        kernel=_text(facts.get("quant_kernels")),
        weights_gib=_number(facts.get("model_memory_gib")),
        kv_cache_tokens=_whole(facts.get("kv_cache_tokens")),
        load_seconds=_number(facts.get("model_load_seconds")),
        init_seconds=_number(facts.get("init_engine_seconds")),
        facts=facts,
        cold_start=cold_start(record.replicas),
        warm_up=_warm_up(record),
    )


def _warm_up(record: ArmRecord) -> WarmUp | None:
    rounds_ms = record.warm_up_tpot_ms
    return WarmUp(rounds_ms, record.warm_up_stable, record.warm_up_s) if rounds_ms else None


def _facts(record: ArmRecord) -> dict[str, Value]:
    said = record.replicas[0].facts if record.replicas else {}
    return {name: fact.value for name, fact in (record.checkpoint | said).items()}


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole(value: Value) -> int | None:
    return round(value) if isinstance(value, int | float) else None
