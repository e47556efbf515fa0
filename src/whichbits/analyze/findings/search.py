"""How a search spent its time, and what drifted meanwhile."""

from collections import Counter
from collections.abc import Iterator

from whichbits.analyze import amounts
from whichbits.analyze.curves.drift import drifts
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import phrase
from whichbits.language.recognition import recognise
from whichbits.record.schema import SearchRecord, SearchStep
from whichbits.study.search import budget_words


def bought(observed: Observed) -> Iterator[Finding]:
    """Say what each step of a search bought, and why it ended."""
    search = observed.manifest.search
    if search is None:
        return
    cells = sum(len(step.cells) for step in search.steps)
    end = (
        phrase("; it ended: {ended}", ended=recognise(search.ended))
        if search.ended
        else phrase("; it is not at its end")
    )
    cells_s = _measured_seconds(observed)
    text = phrase(
        "The study decided {cells} in {steps} within {spent_s:.0f} s, of which cells took {cells_s:.0f} and starts, "
        "warm-up and pauses the rest{end}.",
        cells=amounts.cells(cells),
        steps=amounts.steps(len(search.steps)),
        spent_s=search.spent_s,
        cells_s=cells_s,
        end=end,
    )
    yield Finding("observed", "search", text, tuple(_steps(search)), _settled(search))


def _steps(search: SearchRecord) -> Iterator[str]:
    """Return a line a step, in their order; steps that sought and bought the same stand once, with their number."""
    lines = Counter(map(_step, search.steps))
    for line, count in lines.items():
        yield line if count == 1 else phrase("{line} ({steps})", line=line, steps=amounts.steps(count))


def _step(step: SearchStep) -> str:
    return phrase(
        "{purpose}: {bought}",
        purpose=recognise(step.purpose),
        bought=recognise(step.bought) if step.bought else phrase("not measured to its end"),
    )


def _settled(search: SearchRecord) -> str | None:
    """Return what would have led to an answer, where the budget was too short for one."""
    if search.enough_s is None:
        return None
    return phrase(
        "`budget: {budget}` or more, by what cells took; or fewer and quicker starts: `arms_together`, and "
        "`kv_cache_gib` for vLLM",
        budget=budget_words(search.enough_s),
    )


def _measured_seconds(observed: Observed) -> float:
    times = ((cell.started_ns, cell.finished_ns) for cell in observed.manifest.cells if cell.state == "done")
    return sum((end - start) / 1e9 for start, end in times if start is not None and end is not None)


def drifted(observed: Observed) -> Iterator[Finding]:
    """Say that the machine changed while the study ran, where repeats show it."""
    if observed.manifest.source == "predicted":
        return
    started = {cell.cell: cell.started_ns for cell in observed.manifest.cells if cell.started_ns is not None}
    yield from drifts(observed.cells, started)
