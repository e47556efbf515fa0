"""Cells whose throughput holds a long drain, since they have few requests for their concurrency."""

from whichbits.analyze.curves.load_curves import load_unit
from whichbits.analyze.summary import CellSummary, Metric

FEW_WAVES = 4.0
DRAINED = 0.1
OF_WHOLE_CELL: tuple[Metric, ...] = ("output_tokens_per_s", "goodput_requests_per_s", "cost_per_million_tokens")
"""Metrics that are taken over a cell's whole time, its drain included."""


def waves(cell: CellSummary) -> float | None:
    """Return how many requests each stream sent on average; None where nothing holds a number of streams."""
    return cell.requests / cell.concurrency if cell.concurrency and load_unit([cell]) == "concurrency" else None


def is_drained(cell: CellSummary) -> bool:
    """Say whether much of the cell passed with fewer requests in flight than it is named after."""
    sent, whole, steady = waves(cell), cell.output_tokens_per_s, cell.steady_output_tokens_per_s
    if sent is None or not cell.requests or (cell.concurrency or 0) < 2 or whole is None:
        return False
    if steady is not None:
        return steady > (1 + DRAINED) * whole
    return sent < FEW_WAVES
