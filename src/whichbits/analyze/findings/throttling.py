"""Did power or heat hold the GPUs' clocks down?"""

from collections.abc import Iterator

from whichbits.analyze.engine.telemetry import GpuTelemetry
from whichbits.analyze.findings.observed import Observed, evidence, load_of
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, listed, phrase

THROTTLED_SHARE = 0.05
"""Of a cell's samples; a single one may be the ramp of the first step."""
_WORDS = {
    "power_cap": phrase("the power limit"),
    "power_brake": phrase("a power brake from outside"),
    "thermal_software": phrase("heat"),
    "thermal_hardware": phrase("heat"),
    "hardware_slowdown": phrase("a slowdown of the hardware"),
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
    clock = (
        ""
        if gpu.sm_clock_share is None
        else phrase("; clocks were then {sm_clock_share:.0%} of the highest", sm_clock_share=gpu.sm_clock_share)
    )
    text = phrase(
        "{arm}: {causes} held the GPU's clocks down in {cells}, most at {load_of}: "
        "{throttled_share:.0%} of the time{clock}. Arithmetic is slower than the device's peak there; an "
        "arm that computes less is held less.",
        arm=arm,
        causes=listed(causes),
        cells=amount(len(held), "cell"),
        load_of=load_of(worst),
        throttled_share=gpu.throttled_share or 0.0,
        clock=clock,
    )
    return Finding("observed", "gpu_throttled", text, (*evidence([cell for cell, _ in held]), *map(_line, held)))


def _line(pair: tuple[CellSummary, GpuTelemetry]) -> str:
    cell, gpu = pair
    causes = joined(
        ", ",
        (phrase("{cause} {seconds:.1f} s", cause=cause, seconds=seconds) for cause, seconds in gpu.throttled_s.items()),
    )
    power = (
        "" if gpu.mean_power_w is None else phrase(", mean power {mean_power_w:.0f} W", mean_power_w=gpu.mean_power_w)
    )
    limit = "" if gpu.power_limit_w is None else phrase(" of {power_limit_w:.0f} W", power_limit_w=gpu.power_limit_w)
    return phrase("cell {cell}: {causes}{power}{limit}", cell=cell.cell, causes=causes, power=power, limit=limit)
