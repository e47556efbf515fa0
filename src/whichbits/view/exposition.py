"""The runs of a folder in Prometheus's text form, so that a study that is under way can be watched and alerted on."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import get_args

from whichbits.record.schema import Cell, CellState
from whichbits.serve.metrics.text import escaped

_STATES = get_args(CellState)


def exposition(running: Iterable[tuple[str, tuple[Cell, ...]]]) -> str:
    """Return metrics of runs under way, each given by its name and cells."""
    return "\n".join(_lines(list(running))) + "\n"


def _lines(running: list[tuple[str, tuple[Cell, ...]]]) -> Iterator[str]:
    yield "# HELP whichbits_cells Cells of a run under way, by state."
    yield "# TYPE whichbits_cells gauge"
    for name, cells in running:
        states = Counter(cell.state for cell in cells)
        for state in _STATES:
            yield f'whichbits_cells{{run="{escaped(name)}",state="{state}"}} {states[state]}'
    for metric, meaning in (("requests", "Requests sent"), ("failed", "Requests that failed")):
        yield f"# HELP whichbits_{metric} {meaning} in the cells of a run under way that have ended."
        yield f"# TYPE whichbits_{metric} gauge"
        for name, cells in running:
            total = sum(getattr(cell, metric) or 0 for cell in cells)
            yield f'whichbits_{metric}{{run="{escaped(name)}"}} {total}'
