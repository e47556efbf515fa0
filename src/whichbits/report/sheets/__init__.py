"""The tables of evidence that Markdown and HTML share; each is a function, and ``SHEETS`` lists them in their order."""

from collections.abc import Callable

from whichbits.analyze.summary import Summary
from whichbits.record.schema import Manifest
from whichbits.report.sheets.cache import hit_rates
from whichbits.report.sheets.capacity import capacities
from whichbits.report.sheets.itl import itl_kinds
from whichbits.report.sheets.latency import latency_split
from whichbits.report.sheets.replicas import replicas
from whichbits.report.sheets.roofline import rooflines, step_split
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.sheets.slo import service_level
from whichbits.report.sheets.state import engine_state
from whichbits.report.sheets.tails import tail_ladder

__all__ = ["SHEETS", "Sheet", "sheets"]

SHEETS: tuple[Callable[[Summary, Manifest], Sheet | None], ...] = (
    service_level,
    tail_ladder,
    latency_split,
    itl_kinds,
    rooflines,
    step_split,
    capacities,
    engine_state,
    hit_rates,
    replicas,
)


def sheets(summary: Summary, manifest: Manifest) -> tuple[Sheet, ...]:
    """Return the tables for which anything is known."""
    return tuple(sheet for make in SHEETS if (sheet := make(summary, manifest)) is not None)
