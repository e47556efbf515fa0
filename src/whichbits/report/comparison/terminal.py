"""A comparison on a terminal: who won what, in 80 columns."""

import io
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whichbits.analyze.comparison.comparison import Comparison, PairComparison, Row
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
    names_of,
    refusals,
    remarks,
    shown,
    title_of,
)
from whichbits.report.fitted import Fitted
from whichbits.report.wording import number, plain

_STYLES = {"better": "green", "worse": "red", "no_interval": "yellow", "unclear": "dim", "thin": "dim"}
_GATE_STYLES = {"passed": "green", "failed": "red"}


def print_comparison(
    comparison: Comparison, gates: Sequence[GateOutcome], console: Console, spoken: Language = ENGLISH
) -> None:
    """Print every pair, and what became of the gates."""
    console.print(Group(*_sections(comparison, gates, spoken)))


def comparison_text(comparison: Comparison, gates: Sequence[GateOutcome] = (), spoken: Language = ENGLISH) -> str:
    """Return what a terminal of 80 columns shows, without colour."""
    page = io.StringIO()
    print_comparison(comparison, gates, Console(file=page, width=80, no_color=True, force_terminal=False), spoken)
    return page.getvalue()


def _sections(comparison: Comparison, gates: Sequence[GateOutcome], spoken: Language) -> Iterable[RenderableType]:
    for place, pair in enumerate(comparison.pairs):
        if place:
            yield Text("")
        yield Text(plain(spoken.say(title_of(pair))), style="bold")
        if pair.differences:
            yield _indented(_differences(pair, spoken))
        yield Text("")
        if shown(pair):
            yield _indented(Fitted(_rows(pair, spoken)))
        yield Padding(Text(spoken.say(method_text(pair, comparison.margin)), style="dim"), (0, 0, 0, 1))
        yield from _reasons(phrase("Not compared"), refusals(pair), spoken)
        yield from _reasons(phrase("To bear in mind"), remarks(pair), spoken)
    if gates:
        yield Text(f"\n{spoken.say(phrase('Gates'))}", style="bold")
        yield _indented(_gates(gates, spoken))


def _indented(body: RenderableType) -> RenderableType:
    return Padding(body, (0, 0, 0, 1))


def _differences(pair: PairComparison, spoken: Language) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, (baseline, candidate) in pair.differences.items():
        table.add_row(
            Text(plain(spoken.say(fact_name(name))), style="dim"),
            Text(plain(f"{tell(baseline, spoken)} -> {tell(candidate, spoken)}"), overflow="fold"),
        )
    return table


def _rows(pair: PairComparison, spoken: Language) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(spoken.say(phrase("metric")), overflow="fold")
    table.add_column(spoken.say(phrase("load")), no_wrap=True)
    for heading in (phrase("baseline"), phrase("candidate"), phrase("change"), phrase("95 % interval")):
        table.add_column(spoken.say(heading), justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    before = None
    for row in shown(pair):
        name = spoken.say(metric_name(row))
        verdict = Text(spoken.say(VERDICTS[row.verdict]), style=_STYLES.get(row.verdict, ""))
        values = (number(row.baseline), number(row.candidate), change_text(row), spoken.say(interval_text(row)))
        table.add_row(Text(name if name != before else ""), load_text(row), *values, verdict)
        before = name
    return table


def _reasons(title: str, found: dict[str, list[Row]], spoken: Language) -> Iterable[RenderableType]:
    if found:
        yield Text(f"\n{spoken.say(title)}", style="bold")
        for reason, rows in found.items():
            yield Padding(Text(plain(f"{tell(reason, spoken)}: {spoken.say(names_of(rows))}")), (0, 0, 0, 1))


def _gates(gates: Sequence[GateOutcome], spoken: Language) -> Table:
    table = Table.grid(padding=(0, 2))
    for gate in gates:
        verdict = Text(spoken.say(GATE_VERDICTS[gate.verdict]), style=_GATE_STYLES.get(gate.verdict, "yellow"))
        table.add_row(Text(plain(gate.gate)), verdict, Text(plain(spoken.say(gate_evidence(gate)))))
    return table
