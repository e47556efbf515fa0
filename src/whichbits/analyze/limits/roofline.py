"""Where a decode step stands under its device's roofline, in both conventions that people use.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from dataclasses import dataclass
from typing import Self

from whichbits.analyze.limits.decode_work import DecodeWork
from whichbits.hardware.devices import Device

NARROW_TYPES = {"w8a8-fp8": "fp8", "w8a8-int8": "int8", "w4a8-int8": "int8"}
"""Operands of the linear layers by weight format, where they are not 16 bits wide."""
_WIDE = ("bf16", "fp16", "fp32")


@dataclass(frozen=True)
class Step:
    """A decode step as it was measured: its time (median TPOT), requests in it, and tokens in each one's KV cache."""

    ms: float
    batch: float
    context_tokens: float | None = None
    kv_element_bytes: float = 2


@dataclass(frozen=True)
class Ceiling:
    """What the GPUs of one replica do at most together: dense FLOP/s and bytes/s.

    ``wide_flops`` is the peak of 16-bit operands, in which lm_head and attention compute whatever the format is.
    """

    device: str
    number_type: str
    flops: float
    wide_flops: float
    bandwidth: float

    @classmethod
    def of(cls, device: Device, number_type: str, gpus: int = 1) -> Self:
        """Take the peaks of a device for operands that it has units for; ``gpus`` share each step."""
        narrow = device.peaks[number_type].value
        wide = next((device.peaks[name].value for name in _WIDE if name in device.peaks), narrow)
        bandwidth = gpus * device.bandwidth_gb_s * 1e9
        return cls(device.name, number_type, gpus * narrow * 1e12, gpus * wide * 1e12, bandwidth)


@dataclass(frozen=True)
class Model:
    """What is known of the weights: bytes loaded by the log, on all GPUs of a replica, and the checkpoint."""

    loaded_bytes: float | None = None
    parameters: float | None = None
    work: DecodeWork | None = None


@dataclass(frozen=True)
class Accounting:
    """One way of counting a step's bytes and FLOPs, and what follows; shares are of dense peaks."""

    step_bytes: float
    step_flops: float
    effective_gb_s: float
    attained_bandwidth: float
    compute_utilization: float
    intensity: float
    """FLOP per byte."""
    floor_tpot_ms: float
    """Time of the reads alone at peak bandwidth."""


@dataclass(frozen=True)
class StepSplit:
    """A step's time by cause, in ms. Arithmetic can hide behind reads, so ``left_over`` is over the longer of both.

    It holds launches, scheduling, dequantisation, and bandwidth or FLOPS that kernels do not reach.
    """

    weights: float
    kv_cache: float
    arithmetic: float
    left_over: float


@dataclass(frozen=True)
class Roofline:
    """One arm at one load against its device. A count that nothing is known for is None."""

    device: str
    number_type: str
    """Operands of the linear layers; a device without units for narrow ones computes in 16 bits."""
    peak_tflops: float
    bandwidth_gb_s: float
    ridge: float
    """FLOP per byte at which arithmetic takes as long as reading."""
    step_ms: float
    batch: float
    context_tokens: float | None
    loaded: Accounting | None
    """Bytes: the weights that the log says were loaded. FLOPs: 2 x parameters x batch."""
    read: Accounting | None
    """Bytes that are really read: no input embedding, but the KV cache. FLOPs with attention, without embedding."""
    split_ms: StepSplit | None


def number_type(weight_format: str, device: Device, dtype: str | None = None) -> str | None:
    """Return the operands that the format's linear layers have on ``device``; None if it has no peak for them.

    Narrow activations fall back to 16 bits where the device has no units for them (weight-only kernels).
    """
    wide = "bf16" if "bf" in (dtype or weight_format) else "fp16"
    wanted = (NARROW_TYPES.get(weight_format), wide, *_WIDE)
    return next((name for name in wanted if name is not None and name in device.peaks), None)


def roofline(ceiling: Ceiling, step: Step, model: Model) -> Roofline:
    """Hold a measured step against what the device does at most, in both ways of counting."""
    loaded = read = split = None
    if model.loaded_bytes is not None and model.parameters is not None:
        loaded = account(model.loaded_bytes, 2 * model.parameters * step.batch, step, ceiling)
    if model.work is not None and step.context_tokens is not None:
        read, split = _read(ceiling, step, model.work, step.context_tokens)
    return Roofline(
        device=ceiling.device,
        number_type=ceiling.number_type,
        peak_tflops=ceiling.flops / 1e12,
        bandwidth_gb_s=ceiling.bandwidth / 1e9,
        ridge=ceiling.flops / ceiling.bandwidth,
        step_ms=step.ms,
        batch=step.batch,
        context_tokens=step.context_tokens,
        loaded=loaded,
        read=read,
        split_ms=split,
    )


def account(step_bytes: float, step_flops: float, step: Step, ceiling: Ceiling) -> Accounting:
    """Divide a step's bytes and FLOPs by its time, and these by the ceiling."""
    seconds = step.ms / 1e3
    return Accounting(
        step_bytes=step_bytes,
        step_flops=step_flops,
        effective_gb_s=step_bytes / seconds / 1e9,
        attained_bandwidth=step_bytes / seconds / ceiling.bandwidth,
        compute_utilization=step_flops / seconds / ceiling.flops,
        intensity=step_flops / step_bytes,
        floor_tpot_ms=1e3 * step_bytes / ceiling.bandwidth,
    )


def _read(ceiling: Ceiling, step: Step, work: DecodeWork, context_tokens: float) -> tuple[Accounting, StepSplit]:
    weights = work.weight_bytes(step.batch)
    kv_cache = work.kv_bytes(step.batch, context_tokens, step.kv_element_bytes)
    narrow, wide = work.linear_flops(step.batch), work.wide_flops(step.batch, context_tokens)
    reading_ms = 1e3 * (weights + kv_cache) / ceiling.bandwidth
    arithmetic_ms = 1e3 * (narrow / ceiling.flops + wide / ceiling.wide_flops)
    split = StepSplit(
        weights=1e3 * weights / ceiling.bandwidth,
        kv_cache=1e3 * kv_cache / ceiling.bandwidth,
        arithmetic=arithmetic_ms,
        left_over=step.ms - max(reading_ms, arithmetic_ms),
    )
    return account(weights + kv_cache, narrow + wide, step, ceiling), split
