"""What the engine's gauges showed during each cell: requests running and waiting, KV cache, preemptions."""

from collections.abc import Callable

from whichbits.analyze.summary import CellSummary, EngineLevel, Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, Reading, by_arm
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text


def engine_state(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; None if no engine was scraped during a cell."""
    rows = tuple(row for row in map(_row, by_arm(summary)) if any(cell != MISSING for cell in row[3:]))
    if not rows:
        return None
    return Sheet(
        name="state",
        title=phrase("Batch and KV cache"),
        meaning=phrase(
            "Requests running and waiting and KV cache in use by scrapes during the cell, mean and peak; "
            "beside it the mean batch by Little's law."
        ),
        headings=(
            phrase("arm"),
            phrase("load"),
            phrase("mean batch"),
            phrase("running mean"),
            phrase("running peak"),
            phrase("waiting mean"),
            phrase("waiting peak"),
            phrase("KV mean"),
            phrase("KV peak"),
            phrase("preemptions"),
        ),
        rows=rows,
        words=2,
    )


def _row(each: Pooled) -> tuple[str, ...]:
    return (
        each.arm,
        each.load_text,
        number(each.median(lambda cell: cell.mean_batch)),
        *(number(each.median(reading)) for reading in _levels(lambda cell: cell.requests_running)),
        *(number(each.median(reading)) for reading in _levels(lambda cell: cell.requests_waiting)),
        *(share_text(each.median(reading)) for reading in _levels(lambda cell: cell.kv_cache_usage)),
        _whole(each.total(lambda cell: cell.preemptions)),
    )


def _levels(of: Callable[[CellSummary], EngineLevel | None]) -> tuple[Reading, Reading]:
    def mean(cell: CellSummary) -> float | None:
        level = of(cell)
        return None if level is None else level.mean

    def peak(cell: CellSummary) -> float | None:
        level = of(cell)
        return None if level is None else level.peak

    return mean, peak


def _whole(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0f}"
