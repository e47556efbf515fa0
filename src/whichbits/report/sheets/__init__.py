"""The tables of evidence that Markdown and HTML share; each is a function, listed below."""

from collections.abc import Callable

from whichbits.analyze.summary import Summary
from whichbits.record.schema import Manifest
from whichbits.report.sheets.arms import at_a_glance
from whichbits.report.sheets.cache import hit_rates
from whichbits.report.sheets.capacity import capacities
from whichbits.report.sheets.course import rates, steady_windows, warm_ups
from whichbits.report.sheets.gpu import gpu_state
from whichbits.report.sheets.itl import itl_kinds
from whichbits.report.sheets.kernels import kernel_times
from whichbits.report.sheets.latency import latency_split
from whichbits.report.sheets.quality import SHEETS as QUALITY
from whichbits.report.sheets.replicas import replicas
from whichbits.report.sheets.roofline import rooflines, step_split
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.sheets.slo import service_level
from whichbits.report.sheets.start import cold_starts
from whichbits.report.sheets.state import engine_state
from whichbits.report.sheets.tails import tail_ladder

__all__ = [
    "CAUSES",
    "COMPARISONS",
    "COURSES",
    "QUALITY",
    "Sheet",
    "at_a_glance",
    "causes",
    "comparisons",
    "courses",
    "quality",
]

Make = Callable[[Summary, Manifest], Sheet | None]

COMPARISONS: tuple[Make, ...] = (service_level, tail_ladder)
"""Which arm is better where."""

CAUSES: tuple[Make, ...] = (
    latency_split,
    itl_kinds,
    rooflines,
    step_split,
    capacities,
    engine_state,
    hit_rates,
    replicas,
    kernel_times,
    gpu_state,
    cold_starts,
)
"""What would explain it."""

COURSES: tuple[Make, ...] = (steady_windows, rates, warm_ups)
"""How the cells went."""


def comparisons(summary: Summary, manifest: Manifest) -> tuple[Sheet, ...]:
    """Return the tables of ``COMPARISONS`` for which anything is known."""
    return _known(COMPARISONS, summary, manifest)


def causes(summary: Summary, manifest: Manifest) -> tuple[Sheet, ...]:
    """Return the tables of ``CAUSES`` for which anything is known."""
    return _known(CAUSES, summary, manifest)


def courses(summary: Summary, manifest: Manifest) -> tuple[Sheet, ...]:
    """Return the tables of ``COURSES`` for which anything is known."""
    return _known(COURSES, summary, manifest)


def quality(summary: Summary, manifest: Manifest) -> tuple[Sheet, ...]:
    """Return the tables of what bits cost in answers; none if the study did not ask."""
    return _known(QUALITY, summary, manifest)


def _known(makes: tuple[Make, ...], summary: Summary, manifest: Manifest) -> tuple[Sheet, ...]:
    return tuple(sheet for make in makes if (sheet := make(summary, manifest)) is not None)
