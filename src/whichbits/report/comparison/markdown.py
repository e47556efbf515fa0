"""A comparison as Markdown: for a file, or for the summary of a CI step."""

from collections.abc import Iterable, Sequence

from whichbits.analyze.comparison.comparison import Comparison, PairComparison
from whichbits.analyze.comparison.gates import GateOutcome
from whichbits.report.comparison.terminal import (
    GATE_VERDICTS,
    VERDICTS,
    change_text,
    gate_evidence,
    interval_text,
    load_text,
    method_text,
    metric_name,
    names_of,
    refusals,
    remarks,
    shown,
)
from whichbits.report.markdown import escaped
from whichbits.report.wording import number

_HEADINGS = ("metric", "load", "baseline", "candidate", "change", "95 % interval", "")
_BOLD = ("better", "worse")


def comparison_markdown(comparison: Comparison, gates: Sequence[GateOutcome] = ()) -> str:
    """Return the gates first, then every pair."""
    blocks = [*_gates(gates), *(block for pair in comparison.pairs for block in _pair(pair, comparison.margin))]
    return "\n\n".join(blocks) + "\n"


def _gates(gates: Sequence[GateOutcome]) -> Iterable[str]:
    if gates:
        rows = [(escaped(gate.gate), GATE_VERDICTS[gate.verdict], escaped(gate_evidence(gate))) for gate in gates]
        yield _table(("gate", "", ""), rows)


def _pair(pair: PairComparison, margin: float) -> Iterable[str]:
    yield f"### {escaped(pair.candidate)} against {escaped(pair.baseline)}"
    if pair.differences:
        rows = [(escaped(name), escaped(ours), escaped(theirs)) for name, (ours, theirs) in pair.differences.items()]
        yield _table(("differs", "baseline", "candidate"), rows)
    if shown(pair):
        yield _table(_HEADINGS, list(_rows(pair)))
    method = method_text(pair, margin)
    yield f"{escaped(method[:1].upper() + method[1:])}."
    for title, found in (("Not compared", refusals(pair)), ("To bear in mind", remarks(pair))):
        if found:
            yield f"**{title}**"
            yield "\n".join(f"* {escaped(f'{reason}: {names_of(rows)}')}" for reason, rows in found.items())


def _rows(pair: PairComparison) -> Iterable[tuple[str, ...]]:
    for row in shown(pair):
        verdict = VERDICTS[row.verdict]
        yield (
            metric_name(row),
            load_text(row),
            number(row.baseline),
            number(row.candidate),
            change_text(row),
            interval_text(row),
            f"**{verdict}**" if row.verdict in _BOLD else verdict,
        )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
