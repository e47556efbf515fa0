"""The measures that a report shows: their names, units, formulas, and how to read one from a cell."""

from dataclasses import dataclass
from typing import Literal

from whichbits.analyze.curves.load_curves import HEADLINES, METRICS
from whichbits.analyze.summary import CellSummary, Crossover, Distribution, Metric, Summary
from whichbits.language.phrase import phrase


@dataclass(frozen=True)
class Measure:
    """One number of a cell; ``path`` is its address in summary.json, such as ``tpot_ms.p50``."""

    path: str
    name: str
    heading: tuple[str, str]
    unit: str
    better: Literal["lower", "higher"] | None
    meaning: str

    def read(self, cell: CellSummary) -> float | None:
        """Return the cell's value in ``unit``, or None where it is not known."""
        field, _, percentile = self.path.partition(".")
        holder = getattr(cell, field)
        value: float | None = getattr(holder, percentile) if percentile else holder
        return value

    def is_thin(self, cell: CellSummary) -> bool:
        """Say whether too few samples lie beyond the percentile for it to be relied on."""
        field, _, percentile = self.path.partition(".")
        holder = getattr(cell, field)
        return isinstance(holder, Distribution) and percentile in holder.thin

    def interval(self, cell: CellSummary) -> tuple[float, float] | None:
        """Return the confidence interval in ``unit``, if one was estimated."""
        return cell.intervals.get(self.path)


_TTFT = phrase("Scheduled send to the first chunk with content.")
_TPOT = phrase("(last chunk - first chunk) / (tokens - 1), one value a request.")
_ITL = phrase("Gaps between content chunks, pooled over requests.")

MEASURES: dict[str, Measure] = {
    measure.path: measure
    for measure in (
        Measure("ttft_ms.p50", phrase("Median TTFT"), ("TTFT", "p50"), "ms", "lower", _TTFT),
        Measure("ttft_ms.p99", phrase("p99 TTFT"), ("TTFT", "p99"), "ms", "lower", _TTFT),
        Measure("tpot_ms.p50", phrase("Median TPOT"), ("TPOT", "p50"), "ms", "lower", _TPOT),
        Measure("tpot_ms.p99", phrase("p99 TPOT"), ("TPOT", "p99"), "ms", "lower", _TPOT),
        Measure("itl_ms.p99", phrase("p99 ITL"), ("ITL", "p99"), "ms", "lower", _ITL),
        Measure(
            "output_tokens_per_s",
            phrase("Output throughput"),
            (phrase("out"), "tok/s"),
            phrase("tokens/s"),
            "higher",
            phrase("Generated tokens over the whole cell's time."),
        ),
        Measure(
            "mean_batch",
            phrase("Mean batch"),
            (phrase("mean"), phrase("batch")),
            phrase("requests"),
            None,
            phrase("Output tokens/s x median TPOT (Little's law)."),
        ),
    )
}


DRAWN: dict[str, Measure] = {
    "goodput_requests_per_s": Measure(
        "goodput_requests_per_s",
        phrase("Goodput"),
        (phrase("good"), "req/s"),
        "requests/s",
        "higher",
        phrase("Requests that held every bound of the SLO, over the whole cell's time."),
    ),
}
"""Measures that charts show and tables of cells do not."""

BETTER = {"lower": phrase("lower is better"), "higher": phrase("higher is better")}


def name_of(metric: Metric) -> str:
    """Return what a compared metric is called; not every one is a measure of the tables."""
    return MEASURES[metric].name if metric in MEASURES else METRICS[metric].name.titled()


def headlines(summary: Summary) -> tuple[Crossover, ...]:
    """Return the crossovers of the metrics that an answer is given for; the others are in summary.json."""
    return tuple(crossover for crossover in summary.crossovers if crossover.metric in HEADLINES)
