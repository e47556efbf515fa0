"""Timelines and cell summaries made by hand."""

from collections.abc import Sequence
from dataclasses import replace

from tests.record.make_run import ended, record
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.summary import CellSummary, Distribution
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell, RequestRecord
from whichbits.record.timelines import Timelines

CELL = Cell(0, "bf16", 4, None, 0)
_MEASURED = cell_summary(ended(CELL, [record()]), table_of(CELL, [record()]))


def timelines(records: Sequence[RequestRecord]) -> Timelines:
    return Timelines.of(table_of(CELL, records))


def flight(sent_ns: int | None, finished_ns: int | None) -> RequestRecord:
    """A request of which only its time in flight matters."""
    return replace(record(), sent_ns=sent_ns, finished_ns=finished_ns)


def summary(arm: str, load: int, value: float, repeat: int = 0) -> CellSummary:
    """A cell all of whose compared metrics have one value."""
    times = Distribution(2000, value, value, value, value)
    place = replace(_MEASURED, arm=arm, concurrency=load, repeat=repeat)
    return replace(place, tpot_ms=times, ttft_ms=times, output_tokens_per_s=value)


def summaries(curves: dict[str, dict[int, float]]) -> list[CellSummary]:
    """Cells of arms whose values are given by load."""
    return [summary(arm, load, value) for arm, curve in curves.items() for load, value in curve.items()]
