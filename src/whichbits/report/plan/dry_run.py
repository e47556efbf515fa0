"""What a study would do, for ``--dry-run``: its cells, its work, and a rough time."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from whichbits.conduct.estimate import PlannedCell, planned_cells, study_estimate
from whichbits.conduct.order import Visit
from whichbits.study.model import Study


def show_plan(study: Study, visits: Sequence[Visit], console: Console) -> None:
    """Print the cells in the order they would run, and the estimated time of the whole."""
    cells = planned_cells(study, visits)
    starts = sum(len(visit.arms) for visit in visits)
    counts = {"arm": len(study.arms), "cell": len(cells), "server start": starts}
    told = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
    console.print(f"[bold]{study.name}[/]: {told}")
    console.print(_table(cells))
    estimate = study_estimate(study, visits)
    supposed = f" for {estimate.supposes}" if estimate.supposes else ""
    console.print(f"About {_minutes(estimate.seconds)}, by a rough rule{supposed}; cache policy '{study.cache}'.")


def _table(cells: Sequence[PlannedCell]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("arm")
    for heading in ("load", "repeat", "requests", "prompt tokens", "output tokens", "about"):
        table.add_column(heading, justify="right")
    for cell in cells:
        numbers = (cell.repeat + 1, cell.requests, f"{cell.prompt_tokens:,}", f"{cell.output_tokens:,}")
        table.add_row(cell.arm, str(cell.load), *map(str, numbers), f"{cell.seconds:.0f} s")
    return table


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
