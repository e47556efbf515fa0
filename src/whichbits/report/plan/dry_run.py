"""What a study would do, for ``--dry-run``: its cells, its work, and a rough time."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.analyze import amounts
from whichbits.conduct.estimate import PlannedCell, planned_cells, study_estimate
from whichbits.conduct.order import Visit
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import joined, phrase
from whichbits.language.recognition import tell
from whichbits.report.fitted import Fitted
from whichbits.report.wording import plain
from whichbits.study.model import Study


def show_plan(study: Study, visits: Sequence[Visit], console: Console, spoken: Language = ENGLISH) -> None:
    """Print the cells in the order they would run, and the estimated time of the whole."""
    cells = planned_cells(study, visits)
    starts = sum(len(visit.arms) for visit in visits)
    counted = joined(", ", (amounts.arms(len(study.arms)), amounts.cells(len(cells)), amounts.server_starts(starts)))
    console.print(Text.assemble((plain(study.name), "bold"), f": {spoken.say(counted)}"))
    console.print(Fitted(_table(cells, spoken)))
    estimate = study_estimate(study, visits)
    supposes = tell(estimate.supposes, spoken) if estimate.supposes else ""
    rule = phrase(
        "About {time}, by a rough rule{supposed}; caches: {cache}.",
        time=_minutes(estimate.seconds),
        supposed=phrase(" for {supposes}", supposes=supposes) if supposes else "",
        cache=study.cache,
    )
    console.print(Text(plain(spoken.say(rule))))


def _table(cells: Sequence[PlannedCell], spoken: Language) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(spoken.say(phrase("arm")), overflow="fold")
    headings = (
        phrase("load"),
        phrase("repeat"),
        phrase("requests"),
        phrase("prompt tokens"),
        phrase("output tokens"),
        phrase("about"),
    )
    for heading in headings:
        table.add_column(spoken.say(heading), justify="right")
    for cell in cells:
        numbers = (cell.repeat + 1, cell.requests, f"{cell.prompt_tokens:,}", f"{cell.output_tokens:,}")
        parts = (cell.arm, cell.load, *numbers, f"{cell.seconds:.0f} s")
        table.add_row(*(Text(plain(str(part))) for part in parts))
    return table


def _minutes(seconds: float) -> str:
    return phrase("{minutes:.1f} minutes", minutes=seconds / 60) if seconds >= 90 else amount(round(seconds), "second")
