"""What the GPUs did during each cell: power, clocks, temperature, and whether something slowed them."""

from collections.abc import Callable

from whichbits.analyze.engine.telemetry import GpuTelemetry
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, Reading, by_arm
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text


def gpu_state(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; None where no GPU was sampled."""
    rows = tuple(_row(each) for each in by_arm(summary) if any(cell.gpu for cell in each.counted))
    if not rows:
        return None
    return Sheet(
        name="gpu",
        title=phrase("GPU"),
        meaning=phrase(
            "Samples during the cell over all GPUs of the arm: power and energy together, clock and use on "
            "average, temperature of the hottest. Throttled is the share of samples with any cause that "
            "lowers clocks."
        ),
        headings=(
            phrase("arm"),
            phrase("load"),
            phrase("power W"),
            phrase("limit W"),
            phrase("energy J"),
            phrase("J a token"),
            phrase("clock MHz"),
            phrase("use"),
            phrase("°C"),
            phrase("throttled"),
        ),
        rows=rows,
        words=2,
    )


def _row(each: Pooled) -> tuple[str, ...]:
    return (
        each.arm,
        each.load_text,
        *(
            number(each.median(reading))
            for reading in (
                _of(lambda gpu: gpu.mean_power_w),
                _of(lambda gpu: gpu.power_limit_w),
                _of(lambda gpu: gpu.energy_j),
                _energy_per_token,
                _of(lambda gpu: gpu.mean_sm_clock_mhz),
            )
        ),
        share_text(each.median(_of(lambda gpu: gpu.mean_utilisation))),
        _whole(each.median(_of(lambda gpu: gpu.max_temperature_c))),
        share_text(each.median(_of(lambda gpu: gpu.throttled_share))),
    )


def _of(value: Callable[[GpuTelemetry], float | None]) -> Reading:
    def read(cell: CellSummary) -> float | None:
        return None if cell.gpu is None else value(cell.gpu)

    return read


def _energy_per_token(cell: CellSummary) -> float | None:
    energy = None if cell.gpu is None else cell.gpu.energy_j
    return energy / cell.output_tokens if energy is not None and cell.output_tokens else None


def _whole(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0f}"
