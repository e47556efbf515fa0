"""Which measures are drawn over load."""

from dataclasses import dataclass

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import joined, phrase
from whichbits.report.cells.measures import DRAWN, MEASURES, Measure
from whichbits.report.plots.series import Change, points
from whichbits.report.wording import LOAD_NAMES, short_load


@dataclass(frozen=True)
class Figure:
    """One chart of the report; ``name`` is its file and element name."""

    name: str
    measure: Measure
    height: int


FIGURES: tuple[Figure, ...] = (
    Figure("tpot-p50", MEASURES["tpot_ms.p50"], 220),
    Figure("tpot-p99", MEASURES["tpot_ms.p99"], 220),
    Figure("ttft-p50", MEASURES["ttft_ms.p50"], 220),
    Figure("ttft-p99", MEASURES["ttft_ms.p99"], 220),
    Figure("output-tokens-per-s", MEASURES["output_tokens_per_s"], 220),
    Figure("goodput", DRAWN["goodput_requests_per_s"], 220),
    Figure("itl-p99", MEASURES["itl_ms.p99"], 160),
    Figure("mean-batch", MEASURES["mean_batch"], 160),
)


def figures(summary: Summary) -> tuple[Figure, ...]:
    """Return the figures for which the summary holds at least one value."""
    return tuple(figure for figure in FIGURES if points(summary, figure.measure))


def description(summary: Summary, figure: Figure, turns: tuple[Change, ...]) -> str:
    """Return the chart in words, for those who cannot see it."""
    subject = phrase(
        "{name} in {unit} over {load}",
        name=figure.measure.name,
        unit=figure.measure.unit,
        load=LOAD_NAMES[summary.load_unit],
    )
    leads = joined(
        "; ",
        (
            phrase(
                "{after} takes over from {before} at {load}",
                after=turn.after,
                before=turn.before,
                load=short_load(turn.load),
            )
            for turn in turns
        ),
    )
    return phrase(
        "Line chart: {subject}, a line an arm. {leads}Numbers: the table below.",
        subject=subject,
        leads=leads + ". " if leads else "",
    )


def thin_text(summary: Summary, measure: Measure) -> str:
    """Return in how many cells too few samples lie beyond the percentile; empty if in none."""
    thin = sum(measure.is_thin(cell) for cell in summary.cells)
    return (
        phrase("~ Fewer than 10 samples lie beyond it in {cells}.", cells=cells_of(thin, len(summary.cells)))
        if thin
        else ""
    )
