"""Was the work done, and was it the same for every arm?"""

from collections.abc import Iterator

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.findings.observed import MOST_LINES, Observed, evidence, load_of, place
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, phrase

_COUNTED_BY = {
    "usage": phrase("the server's usage"),
    "tokenize endpoint": phrase("the server's /tokenize, on the text"),
    "tokenizer": phrase("the target's tokenizer_file, on the text"),
    "chunks": phrase("chunks, each of which may hold several tokens"),
}


def unfinished(observed: Observed) -> Iterator[Finding]:
    """Say what an interrupted run does not cover."""
    missing = [cell for cell in observed.cells if cell.state != "done"]
    if missing:
        text = phrase("Cut short or not run: {cells}.", cells=cells_of(len(missing), len(observed.cells)))
        yield Finding("observed", "unfinished", text, evidence(missing))


def failures(observed: Observed) -> Iterator[Finding]:
    """Name each cell with failed requests, and how they failed."""
    for cell in observed.cells:
        if cell.failed:
            causes = joined(
                ", ",
                (
                    phrase("{code} x {count}", code=code, count=count)
                    for code, count in cell.errors.items()
                    if code != "cancelled"
                ),
            )
            text = phrase(
                "{place}: {failed} of {requests} failed ({causes}).",
                place=place(cell),
                failed=cell.failed,
                requests=amount(cell.requests, "request"),
                causes=causes,
            )
            yield Finding("observed", "requests_failed", text, evidence([cell]))


def untold_tokens(observed: Observed) -> Iterator[Finding]:
    """Name cells in which answers came without their count of tokens: what is counted by tokens is unknown there."""
    silent = [cell for cell in observed.done if cell.served and cell.output_tokens_per_s is None]
    if silent:
        text = phrase(
            "Answers came without usage in {cells}: nobody says how many tokens they have, so that TPOT and "
            "throughput are unknown there. A chunk may hold several tokens.",
            cells=cells_of(len(silent), len(observed.done)),
        )
        settled = phrase("a server, or a gateway, that honours `stream_options: {{include_usage: true}}`")
        yield Finding("unresolved", "tokens_untold", text, evidence(silent), settled)


def counted_otherwise(observed: Observed) -> Iterator[Finding]:
    """Say where others than the server's usage counted output tokens, and whether all arms were counted alike."""
    others = [cell for cell in observed.done if cell.token_count_source not in (None, "usage")]
    if not others:
        return
    sources = {cell.arm: cell.token_count_source for cell in observed.done if cell.token_count_source is not None}
    told = joined(
        ", ",
        (
            phrase("{arm}'s by {counted_by}", arm=arm, counted_by=_COUNTED_BY.get(source, source))
            for arm, source in sources.items()
        ),
    )
    apart = len(set(sources.values())) > 1
    caution = (
        phrase("TPOT and tokens/s of these arms do not compare") if apart else phrase("all arms were counted alike")
    )
    text = phrase(
        "Answers came without usage, so that output tokens were counted otherwise: {told}; {caution}.",
        told=told,
        caution=caution,
    )
    yield Finding("observed", "tokens_counted_otherwise", text, evidence(others))


def unequal_work(observed: Observed) -> Iterator[Finding]:
    """Name the loads at which arms did not process the same tokens."""
    rounds: dict[tuple[int | None, float | None, int], list[CellSummary]] = {}
    for cell in observed.done:
        rounds.setdefault((cell.concurrency, cell.request_rate, cell.repeat), []).append(cell)
    unequal = [(cells, words) for cells in rounds.values() for words in _unequal(cells)]
    if unequal:
        concerned = {cell.cell: cell for cells, _ in unequal for cell in cells}
        told = [phrase("{words} at {load_of}", words=words, load_of=load_of(cells[0])) for cells, words in unequal]
        more = phrase("; and {count} more", count=len(told) - MOST_LINES) if len(told) > MOST_LINES else ""
        text = phrase("Arms did not do equal work: {list}{more}.", list=joined("; ", told[:MOST_LINES]), more=more)
        yield Finding("observed", "unequal_work", text, evidence(list(concerned.values())))


_SIDES = {"prompt_tokens": phrase("prompt tokens"), "output_tokens": phrase("output tokens")}


def _unequal(cells: list[CellSummary]) -> Iterator[str]:
    for side, words in _SIDES.items():
        counts = {cell.arm: getattr(cell, side) for cell in cells if getattr(cell, side) is not None}
        if len(set(counts.values())) > 1:
            yield phrase(
                "{side} were {list}",
                side=words,
                list=joined(", ", (f"{arm} {count}" for arm, count in counts.items())),
            )


def thin_tails(observed: Observed) -> Iterator[Finding]:
    """Count the cells whose p99 rests on a handful of requests."""
    thin = [cell for cell in observed.done if cell.tpot_ms.n and "p99" in cell.tpot_ms.thin]
    if thin:
        text = phrase(
            "The p99 of TPOT rests on fewer than 10 samples beyond it in {cells}; larger cells would settle it.",
            cells=cells_of(len(thin), len(observed.done)),
        )
        yield Finding("observed", "thin_tails", text, evidence(thin))
