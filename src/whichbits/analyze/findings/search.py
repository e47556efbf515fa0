"""How a search spent its time, and what drifted meanwhile."""

from collections.abc import Iterator

from whichbits.analyze import amounts
from whichbits.analyze.curves.drift import drifts
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import phrase


def bought(observed: Observed) -> Iterator[Finding]:
    """Say what each step of a search bought, and why it ended."""
    search = observed.manifest.search
    if search is None:
        return
    cells = sum(len(step.cells) for step in search.steps)
    end = phrase("; it ended: {ended}", ended=search.ended) if search.ended else phrase("; it is not at its end")
    text = phrase(
        "The study decided {cells} in {steps} within {spent_s:.0f} s{end}.",
        cells=amounts.cells(cells),
        steps=amounts.steps(len(search.steps)),
        spent_s=search.spent_s,
        end=end,
    )
    lines = (
        phrase("{purpose}: {bought}", purpose=step.purpose, bought=step.bought or phrase("not measured to its end"))
        for step in search.steps
    )
    yield Finding("observed", "search", text, tuple(lines))


def drifted(observed: Observed) -> Iterator[Finding]:
    """Say that the machine changed while the study ran, where repeats show it."""
    if observed.manifest.source == "predicted":
        return
    started = {cell.cell: cell.started_ns for cell in observed.manifest.cells if cell.started_ns is not None}
    yield from drifts(observed.cells, started)
