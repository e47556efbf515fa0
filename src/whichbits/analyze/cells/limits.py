"""What an arm's device and KV cache allow, put together from a run's facts; None wherever a fact is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from whichbits.analyze.limits.capacity import Capacity, Demand, Pool, capacity
from whichbits.analyze.limits.decode_work import DecodeWork, kv_element_bytes
from whichbits.analyze.limits.roofline import Ceiling, Model, Roofline, Step, number_type, roofline
from whichbits.analyze.summary import ArmSummary, CellSummary
from whichbits.hardware.devices import Device, known_device
from whichbits.record.schema import Manifest

_GIB = 2**30
_PLAIN_KV = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "float16", "bfloat16", "f16", "bf16", "half")
"""Types of KV cache with one width for every number and nothing beside them worth a count."""
_FOUR_BYTES = ("float32", "float", "f32")

Facts = Mapping[str, Any]


def cell_roofline(cell: CellSummary, arm: ArmSummary, manifest: Manifest) -> Roofline | None:
    """Hold a cell's median TPOT against the arm's device; None if the device or the step is unknown."""
    device = _device(arm.facts, manifest)
    if device is None or cell.tpot_ms.p50 is None or not cell.mean_batch:
        return None
    operands = number_type(arm.weight_format, device, arm.facts.get("dtype"))
    if operands is None:
        return None
    gpus = _number(arm.facts, "tensor_parallel_size") or 1
    step = Step(
        ms=cell.tpot_ms.p50,
        batch=cell.mean_batch / _replicas(arm, manifest),
        context_tokens=cell.mean_context_tokens,
        kv_element_bytes=kv_element_bytes(arm.facts.get("kv_cache_dtype")),
    )
    model = Model(
        loaded_bytes=None if arm.weights_gib is None else arm.weights_gib * _GIB * gpus,
        parameters=_number(arm.facts, "parameters"),
        work=DecodeWork.of_facts(arm.facts),
    )
    return roofline(Ceiling.of(device, operands, int(gpus)), step, model)


def arm_capacity(arm: ArmSummary, cells: Sequence[CellSummary], manifest: Manifest) -> Capacity | None:
    """Set one replica's KV cache against the traffic of the arm's cells; None if its size is unknown."""
    if not arm.kv_cache_tokens:
        return None
    pool = Pool(
        tokens=arm.kv_cache_tokens,
        memory_gib=_number(arm.facts, "kv_cache_memory_gib"),
        bytes_per_token=_kv_bytes_per_token(arm.facts),
        gpus=_kv_gpus(arm.facts),
        max_model_len=_whole(arm.facts, "max_model_len"),
        max_num_seqs=_whole(arm.facts, "max_num_seqs"),
        cuda_graph_gib=_number(arm.facts, "cuda_graph_gib"),
        activation_gib=_number(arm.facts, "activation_peak_gib"),
    )
    return capacity(pool, _demand(cells, manifest.study, _replicas(arm, manifest)))


def _demand(cells: Sequence[CellSummary], study: Mapping[str, Any], replicas: int) -> Demand | None:
    served = [cell for cell in cells if cell.prompt_tokens is not None and cell.served]
    requests = sum(cell.served for cell in served)
    if not requests:
        return None
    traffic = study.get("traffic") or {}
    concurrencies = [cell.concurrency for cell in served if cell.concurrency is not None]
    return Demand(
        prompt_tokens=sum(cell.prompt_tokens or 0 for cell in served) / requests,
        output_tokens=sum(cell.output_tokens for cell in served) / requests,
        concurrency=max(concurrencies) / replicas if concurrencies else None,
        distinct_prefixes=_whole(traffic, "prefixes"),
        prefix_tokens=_whole(traffic, "prefix_tokens"),
    )


def _kv_bytes_per_token(facts: Facts) -> float | None:
    """Return what the checkpoint's shape gives; None for a type of cache whose numbers have no one plain width."""
    elements, kind = _number(facts, "kv_elements_per_token"), facts.get("kv_cache_dtype")
    if elements is None or str(kind or "auto").lower() not in _PLAIN_KV:
        return None
    wide = kind in (None, "auto") and facts.get("dtype") in _FOUR_BYTES
    return elements * (4 if wide else kv_element_bytes(kind))


def _kv_gpus(facts: Facts) -> int:
    """Return over how many GPUs one token's keys and values are spread: no further than there are KV heads."""
    tensor = _whole(facts, "tensor_parallel_size") or 1
    elements, heads, size = (_whole(facts, name) for name in ("kv_elements_per_token", "kv_heads", "head_dim"))
    if elements is not None and heads and size:
        latent = elements % (2 * heads * size) != 0  # every GPU keeps all of a latent (MLA)
        tensor = 1 if latent else min(tensor, heads)
    return tensor * (_whole(facts, "pipeline_parallel_size") or 1)


def _device(facts: Facts, manifest: Manifest) -> Device | None:
    """Return the device by the engine's words, or else by the host's."""
    named = facts.get("device_name") or manifest.host.get("device_name")
    return known_device(named) if isinstance(named, str) else None


def _replicas(arm: ArmSummary, manifest: Manifest) -> int:
    record = manifest.arms.get(arm.arm)
    return max(1, len(record.replicas)) if record is not None else 1


def _number(facts: Facts, name: str) -> float | None:
    value = facts.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(facts: Facts, name: str) -> int | None:
    value = _number(facts, name)
    return None if value is None else round(value)
