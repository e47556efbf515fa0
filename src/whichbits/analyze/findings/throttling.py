"""Did power or heat hold the GPUs' clocks down?"""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, evidence, load_of
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.analyze.telemetry import GpuTelemetry

THROTTLED_SHARE = 0.05
"""Of a cell's samples; a single one may be the ramp of the first step."""
_WORDS = {
    "power_cap": "the power limit",
    "power_brake": "a power brake from outside",
    "thermal_software": "heat",
    "thermal_hardware": "heat",
    "hardware_slowdown": "a slowdown of the hardware",
}


def throttled_gpus(observed: Observed) -> Iterator[Finding]:
    """Name each arm's cells in which something held the clocks down against the work's wish."""
    for arm in dict.fromkeys(cell.arm for cell in observed.done):
        held = [
            (cell, cell.gpu)
            for cell in observed.done
            if cell.arm == arm and cell.gpu is not None and _is_held(cell.gpu)
        ]
        if held:
            yield _finding(arm, held)


def _is_held(gpu: GpuTelemetry) -> bool:
    return (gpu.throttled_share or 0.0) > THROTTLED_SHARE


def _finding(arm: str, held: list[tuple[CellSummary, GpuTelemetry]]) -> Finding:
    worst, gpu = max(held, key=lambda pair: pair[1].throttled_share or 0.0)
    causes = dict.fromkeys(_WORDS[cause] for _, each in held for cause in each.throttled_s)
    clock = "" if gpu.sm_clock_share is None else f"; clocks were then {gpu.sm_clock_share:.0%} of the highest"
    text = (
        f"{arm}: {' and '.join(causes)} held the GPU's clocks down in {len(held)} "
        f"cell{'s' if len(held) > 1 else ''}, most at {load_of(worst)}: {gpu.throttled_share or 0.0:.0%} of the time"
        f"{clock}. Arithmetic is slower than the device's peak there; an arm that computes less is held less."
    )
    return Finding("observed", "gpu_throttled", text, (*evidence([cell for cell, _ in held]), *map(_line, held)))


def _line(pair: tuple[CellSummary, GpuTelemetry]) -> str:
    cell, gpu = pair
    causes = ", ".join(f"{cause} {seconds:.1f} s" for cause, seconds in gpu.throttled_s.items())
    power = "" if gpu.mean_power_w is None else f", mean power {gpu.mean_power_w:.0f} W"
    limit = "" if gpu.power_limit_w is None else f" of {gpu.power_limit_w:.0f} W"
    return f"cell {cell.cell}: {causes}{power}{limit}"
