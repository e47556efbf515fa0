"""Why a gate fails, in lines that need no look at the run: where, by how much, how sure, and what would settle it."""

from collections.abc import Iterator

from whichbits.analyze.answer.predictions import Measured, score
from whichbits.analyze.comparison.comparison import Row
from whichbits.analyze.comparison.gates import GateOutcome
from whichbits.analyze.curves.load_curves import why_unusable
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.report.comparison.wording import change_text, gate_evidence, interval_text, load_text
from whichbits.report.wording import load_text as load_of
from whichbits.report.wording import number
from whichbits.study.prediction import Names, parse_prediction

_MORE = "more repeats or larger cells make the interval narrower"
_REMEDIES = {
    "client limited": "the client could not keep up, its times are its own: send from a faster or quieter machine",
    "failed requests": "too many requests failed: see the run's report",
    "planned": "the run was stopped before this cell",
    "interrupted": "the run was stopped in this cell",
    "skipped": "the server did not come, or died",
}


def explained(outcome: GateOutcome) -> Iterator[str]:
    """Yield why a limit that breaks a test does not hold."""
    if outcome.verdict == "undecidable":
        yield f"{outcome.gate}: can be held against nothing: no load has it on both sides under one definition"
    elif outcome.verdict == "passed":
        yield f"{outcome.gate}: holds {gate_evidence(outcome)}"
    for baseline, candidate, row in outcome.rows:
        where = f"{outcome.verdict} at {load_text(row)}, {candidate} against {baseline}"
        doubt = "" if outcome.verdict == "failed" else f"; {_doubt(row)}"
        yield f"{outcome.gate}: {where}: {_change(row)}{doubt}"
    yield from _refused(outcome)


def passed_unseen(outcome: GateOutcome) -> str | None:
    """Return at how many loads a limit that passes was held, and why not at others; None if at all."""
    passed = outcome.verdict == "passed" and outcome.missed
    return f"{outcome.gate}: passed {gate_evidence(outcome)}" if passed else None


def refuted(text: str, summary: Summary, *, sure: bool) -> Iterator[str]:
    """Yield why a statement on a run's own numbers does not hold; nothing where it does."""
    names = Names({cell.arm for cell in summary.cells}, {load_of(cell) for cell in summary.cells})
    try:
        prediction = parse_prediction(_statement(text), names)
    except ValueError as error:
        raise BadInput(
            "statement_unreadable",
            str(error),
            why="it is misspelt, or is about an arm or a load that the run does not have",
            fix='write it as a study\'s predictions, such as "w4a16.ttft_p99 at load 8 < 500 ms"',
        ) from error
    found = score(text, prediction, Measured(summary.cells, summary.crossovers))
    if found.verdict == "false":
        yield f"{text}: false: {found.measured}"
    elif found.verdict == "undecided" and sure:
        yield f"{text}: not shown: {found.measured}; {_MORE}"
    elif found.verdict is None:
        yield f"{text}: not known: {found.measured}"
        yield from _unusable(text, summary)


def _statement(text: object) -> str:
    if isinstance(text, str):
        return text
    message = f"{text!r} is no statement"
    raise ValueError(message)


def _change(row: Row) -> str:
    values = f"{number(row.baseline)} to {number(row.candidate)}"
    span = "no interval" if row.low is None else f"95 % interval {interval_text(row)}"
    return f"{values}, {change_text(row)} ({span})"


def _doubt(row: Row) -> str:
    """Say why a row is uncertain."""
    if row.low is None or row.high is None:
        return "without requests there is no interval"
    if row.significant is None:
        return "too few samples lie beyond the percentile: larger cells would settle it"
    return f"the limit lies within the interval: {_MORE}"


def _refused(outcome: GateOutcome) -> Iterator[str]:
    for baseline, candidate, row in outcome.missed:
        reason = row.refusal or ""
        where = f"at {load_text(row)}, {candidate} against {baseline}"
        yield f"  not compared {where}: {reason}{_remedy(reason)}"


def _unusable(text: str, summary: Summary) -> Iterator[str]:
    """Yield what is wrong with the cells that a statement is about."""
    for cell in summary.cells:
        if f"{cell.arm}." in text and (reason := why_unusable(cell)) is not None:
            yield f"  {_name(cell)}: {reason}{_remedy(str(reason))}"


def _name(cell: CellSummary) -> str:
    return f"{cell.arm} at {load_of(cell)}, repeat {cell.repeat + 1}"


def _remedy(reason: str) -> str:
    known = next((remedy for word, remedy in _REMEDIES.items() if reason.endswith(word)), None)
    return "" if known is None else f" ({known})"
