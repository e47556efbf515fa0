"""A comparison as Markdown: for a file, or for the summary of a CI step."""

from collections.abc import Iterable, Sequence

from whichbits.analyze.comparison.comparison import Comparison, PairComparison
from whichbits.analyze.comparison.gates import GateOutcome
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.report.comparison.wording import (
    GATE_VERDICTS,
    VERDICTS,
    change_text,
    fact_name,
    gate_evidence,
    interval_text,
    load_text,
    method_text,
    metric_name,
    open_text,
    refusals,
    remarks,
    shown,
    title_of,
)
from whichbits.report.markup import escaped
from whichbits.report.wording import number

_HEADINGS = (
    phrase("metric"),
    phrase("load"),
    phrase("baseline"),
    phrase("candidate"),
    phrase("change"),
    phrase("95 % interval"),
    "",
)
_BOLD = ("better", "worse")


def comparison_markdown(comparison: Comparison, gates: Sequence[GateOutcome] = (), spoken: Language = ENGLISH) -> str:
    """Return the gates first, then every pair."""
    pairs = (_pair(pair, comparison.margin, spoken) for pair in comparison.pairs)
    blocks = [*_gates(gates, spoken), *(block for pair in pairs for block in pair)]
    return "\n\n".join(blocks) + "\n"


def _gates(gates: Sequence[GateOutcome], spoken: Language) -> Iterable[str]:
    if gates:
        rows = [
            (escaped(gate.gate), spoken.say(GATE_VERDICTS[gate.verdict]), escaped(spoken.say(gate_evidence(gate))))
            for gate in gates
        ]
        yield _table((spoken.say(phrase("gate")), "", ""), rows)


def _pair(pair: PairComparison, margin: float, spoken: Language) -> Iterable[str]:
    yield f"### {escaped(spoken.say(title_of(pair)))}"
    if pair.differences:
        rows = [
            (escaped(spoken.say(fact_name(name))), *(escaped(tell(value, spoken)) for value in values))
            for name, values in pair.differences.items()
        ]
        yield _table(spoken.say_all((phrase("differs"), phrase("baseline"), phrase("candidate"))), rows)
    if shown(pair):
        yield _table(spoken.say_all(_HEADINGS), list(_rows(pair, spoken)))
    if (undecided := open_text(pair, margin)) is not None:
        yield escaped(spoken.say(undecided))
    method = spoken.say(method_text(pair, margin))
    yield f"{escaped(method[:1].upper() + method[1:])}."
    for title, found in (
        (phrase("Not compared"), refusals(pair)),
        (phrase("To bear in mind"), remarks(pair)),
    ):
        if found:
            yield f"**{spoken.say(title)}**"
            told = (f"{tell(reason, spoken)}: {spoken.say(names)}" for reason, names in found.items())
            yield "\n".join(f"* {escaped(each)}" for each in told)


def _rows(pair: PairComparison, spoken: Language) -> Iterable[tuple[str, ...]]:
    for row in shown(pair):
        verdict = spoken.say(VERDICTS[row.verdict])
        yield (
            spoken.say(metric_name(row)),
            load_text(row),
            number(row.baseline),
            number(row.candidate),
            change_text(row),
            spoken.say(interval_text(row)),
            f"**{verdict}**" if row.verdict in _BOLD else verdict,
        )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
