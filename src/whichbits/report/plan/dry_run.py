"""What a study would do, for ``--dry-run``: its cells, its work, and a rough time."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.conduct.estimate import PlannedCell, planned_cells, study_estimate
from whichbits.conduct.order import Visit
from whichbits.report.fitted import Fitted
from whichbits.report.wording import plain
from whichbits.study.model import Study


def show_plan(study: Study, visits: Sequence[Visit], console: Console) -> None:
    """Print the cells in the order they would run, and the estimated time of the whole."""
    cells = planned_cells(study, visits)
    starts = sum(len(visit.arms) for visit in visits)
    counted = (
        f": {_counted(len(study.arms), 'arm')}, {_counted(len(cells), 'cell')}, {_counted(starts, 'server start')}"
    )
    console.print(Text.assemble((plain(study.name), "bold"), counted))
    console.print(Fitted(_table(cells)))
    estimate = study_estimate(study, visits)
    supposed = f" for {estimate.supposes}" if estimate.supposes else ""
    rule = f"About {_minutes(estimate.seconds)}, by a rough rule{supposed}; caches: {study.cache}."
    console.print(Text(plain(rule)))


def _table(cells: Sequence[PlannedCell]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("arm", overflow="fold")
    for heading in ("load", "repeat", "requests", "prompt tokens", "output tokens", "about"):
        table.add_column(heading, justify="right")
    for cell in cells:
        numbers = (cell.repeat, cell.requests, f"{cell.prompt_tokens:,}", f"{cell.output_tokens:,}")
        parts = (cell.arm, cell.load, *numbers, f"{cell.seconds:.0f} s")
        table.add_row(*(Text(plain(str(part))) for part in parts))
    return table


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
