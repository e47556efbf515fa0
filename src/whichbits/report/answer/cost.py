"""What output tokens cost, as reports show it: a row a load, a column an arm; nothing without prices."""

from collections.abc import Sequence

from whichbits.analyze.curves.left_out import why_left_out
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import joined, phrase
from whichbits.report.wording import MISSING, load_of, load_text, number

TITLE = phrase("Cost per million output tokens")
LEGEND = phrase(
    "In the currency of price_per_hour; the mean of usable repeats; of a single one, with its 95 % interval."
)


def cost_headings(summary: Summary) -> tuple[str, ...]:
    """Return the headings of the table."""
    return (phrase("load"), *summary.arms)


def cost_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the table's rows, loads rising; none if no arm has a price."""
    priced = [cell for cell in summary.cells if cell.cost_per_million_tokens is not None]
    by_load: dict[str, list[CellSummary]] = {}
    for cell in sorted(priced, key=lambda cell: (load_of(cell, summary.load_unit) or 0.0, cell.concurrency or 0)):
        by_load.setdefault(load_text(cell), []).append(cell)
    return [
        (load, *(_cost([cell for cell in cells if cell.arm == arm]) for arm in summary.arms))
        for load, cells in by_load.items()
    ]


def _cost(cells: Sequence[CellSummary]) -> str:
    """Return the mean cost of the cells that can be used, with the interval of a single one; else why none can."""
    usable = [cell for cell in cells if why_left_out(cell) is None]
    costs = [cell.cost_per_million_tokens for cell in usable if cell.cost_per_million_tokens is not None]
    if not costs:
        why = dict.fromkeys(reason for cell in cells if (reason := why_left_out(cell)) is not None)
        return phrase("not known: {why}", why=joined(", ", why)) if why else MISSING
    spread = usable[0].intervals.get("cost_per_million_tokens") if len(usable) == 1 else None
    mean = number(sum(costs) / len(costs))
    return (
        mean
        if spread is None
        else phrase("{mean} ({spread} to {spread_2})", mean=mean, spread=number(spread[0]), spread_2=number(spread[1]))
    )
