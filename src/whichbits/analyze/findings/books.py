"""Where client and engines count differently: unexplained, somebody else's traffic, or for a reason that is known."""

from collections.abc import Iterator

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.engine.books import Difference
from whichbits.analyze.engine.explanations import Total
from whichbits.analyze.findings.observed import Observed, evidence, place
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.phrase import joined, phrase

_TOTALS: dict[Total, str] = {
    "requests_finished": phrase("requests finished"),
    "prompt_tokens": phrase("prompt tokens"),
    "generation_tokens": phrase("generation tokens"),
    "prefix_queries": phrase("prefix queries"),
}


def unbalanced_books(observed: Observed) -> Iterator[Finding]:
    """Name each total on which client and engine differ for no reason that can be told."""
    for cell, wrong in _differences(observed):
        if wrong.explanation is None:
            text = phrase(
                "{place}: the client counts {client} {total}, {by} {engine}.",
                place=place(cell),
                client=wrong.client,
                total=_TOTALS[wrong.total],
                by=_by(wrong),
                engine=wrong.engine,
            )
            yield Finding("observed", "books_disagree", text, evidence([cell]))


def other_traffic(observed: Observed) -> Iterator[Finding]:
    """Name each cell in which somebody else's requests were served."""
    seen: dict[int, tuple[CellSummary, Difference]] = {}
    for cell, wrong in _differences(observed):
        if wrong.explanation == "other_client":
            seen.setdefault(cell.cell, (cell, wrong))
    for cell, wrong in seen.values():
        text = phrase("{place}: {by} answered {text}.", place=place(cell), by=_by(wrong), text=wrong.text)
        yield Finding("observed", "other_traffic", text, evidence([cell]))


def explained_books(observed: Observed) -> Iterator[Finding]:
    """List, in one line, the differences of which the reason is known."""
    reasons: dict[str, dict[int, CellSummary]] = {}
    for cell, wrong in _differences(observed):
        if wrong.explanation not in (None, "other_client"):
            reasons.setdefault(phrase("{text}, by {by}", text=wrong.text, by=_by(wrong)), {})[cell.cell] = cell
    if reasons:
        cells = {number: cell for of_reason in reasons.values() for number, cell in of_reason.items()}
        each = joined(
            "; ",
            (
                phrase("{evidence}: {reason}", evidence=evidence(list(where.values()))[0], reason=reason)
                for reason, where in reasons.items()
            ),
        )
        text = phrase(
            "Client and engines differ, for known reasons, in {cells}: {each}.",
            cells=cells_of(len(cells), len(observed.cells)),
            each=each,
        )
        yield Finding("observed", "books_explained", text, evidence(list(cells.values())))


def _differences(observed: Observed) -> Iterator[tuple[CellSummary, Difference]]:
    for cell in observed.cells:
        for wrong in observed.differences.get(cell.cell, ()):
            yield cell, wrong


def _by(wrong: Difference) -> str:
    return phrase("the engines") if wrong.replica is None else phrase("replica {replica}", replica=wrong.replica)
