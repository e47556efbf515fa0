"""The answer by regime with its scope, in every report."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from whichbits.analyze.crossings.bands import SPREAD
from whichbits.analyze.summary import Summary
from whichbits.analyze.summary.verdicts import Answer, Regime
from whichbits.language.language import Say
from whichbits.language.phrase import Phrase, joined, listed, phrase
from whichbits.language.recognition import recognise
from whichbits.report.answer.lead import Check, Unknown, checks, lead, spread_is_assumed, unknowns
from whichbits.report.cells.measures import DRAWN, MEASURES
from whichbits.report.grid import grid
from whichbits.report.wording import MISSING, plain

NAMES = {
    "low_load": phrase("Low load"),
    "high_load_latency": phrase("High load, latency"),
    "high_load_throughput": phrase("High load, throughput"),
}

_MOST_DOUBTS = 5

_HELD = {
    "hardware": phrase("hardware"),
    "model": phrase("model"),
    "engine": phrase("engine"),
    "traffic": phrase("traffic"),
    "loads": phrase("loads"),
}
"""What an answer holds for."""


@dataclass(frozen=True)
class Row:
    """One regime as reports show it; ``arm`` is a dash where none is named."""

    name: str
    arm: str
    why: str
    by: str
    """The same without who else may be as good, which ``sure`` says."""
    sure: str


def rows(summary: Summary) -> tuple[Row, ...]:
    """Return the regimes; nothing without an answer."""
    regimes = () if summary.answer is None else summary.answer.regimes
    return tuple(
        Row(
            NAMES[each.regime],
            each.arm or MISSING,
            _told(each),
            _told(each, "level", "level_words"),
            _sure(each, summary),
        )
        for each in regimes
    )


def scope(summary: Summary) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what the answer holds for, what would flip it and what is not known, each with its lines."""
    return tuple((title, lines) for title, _, lines in _parts(summary.answer) if lines)


def terminal(summary: Summary, say: Say) -> Iterable[RenderableType]:
    """Return the regimes as a table, and where their scope is told: it fills a terminal."""
    if served := lead(summary):
        yield Text.assemble((plain(say(served.serve)), "bold"), " ", plain(say(served.more)))
    table = grid(3, gap=2)
    for row in rows(summary):
        table.add_row(say(row.name), Text(plain(row.arm), style="bold"), Text(plain(say(row.why))))
    yield table
    if doubted := [check for check in checks(summary, say) if not check.good][:_MOST_DOUBTS]:
        yield _doubts(doubted, say)
    if told := [question for _, question, lines in _parts(summary.answer) if lines]:
        yield Text(say(phrase("{told}: see report.html.", told=joined(", ", told).titled())), style="dim")


def _doubts(doubted: Iterable[Check], say: Say) -> RenderableType:
    """Return why the answer may be wrong: who reads a terminal's last lines only must not miss it."""
    table = grid(2, gap=1)
    for check in doubted:
        table.add_row("!", Text(plain(say(check.text)), style="yellow"))
    return table


def markdown(summary: Summary, say: Say, escaped: Callable[[str], str]) -> Iterable[str]:
    """Return the regimes as a table of Markdown and their scope as lists; nothing without an answer."""
    if summary.answer is not None:
        headings = map(say, (phrase("regime"), phrase("serve"), phrase("by"), phrase("how sure")))
        lines = [f"| {' | '.join(headings)} |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {say(row.name)} | **{escaped(row.arm)}** | {escaped(say(row.by))} | {escaped(say(row.sure))} |"
            for row in rows(summary)
        ]
        yield "\n".join(lines)
        yield say(phrase("Can it be trusted?"))
        marked = (("✓" if each.good else "**!**", each.text) for each in checks(summary, say))
        yield "\n".join(f"- {mark} {escaped(say(text))}" for mark, text in marked)
        yield f"{say(phrase('Not known'))}:"
        open_ = (joined(" ", (each.text, settled(each))) for each in unknowns(summary, say))
        yield "\n".join(f"- {escaped(say(each))}" for each in open_)
    for title, lines_of_scope in scope(summary)[:2]:
        yield "\n".join([f"{say(title)}:", "", *(f"- {escaped(say(line))}" for line in lines_of_scope)])


def settled(unknown: Unknown) -> str:
    """Return what would settle an open question."""
    return phrase("Would settle it: {settled_by}", settled_by=unknown.settled_by)


def _parts(answer: Answer | None) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return the title of each part of the scope, the question that it answers, and its lines."""
    if answer is None:
        return ()
    return (
        (phrase("Holds for"), phrase("what it holds for"), _held(answer)),
        (phrase("Would flip it"), phrase("what would flip it"), answer.would_flip),
        (phrase("Not known"), phrase("what is not known"), answer.not_known),
    )


def _held(answer: Answer) -> tuple[str, ...]:
    return tuple(
        phrase("{name}: {words}", name=_HELD.get(name, name), words=recognise(words) if words else phrase("not known"))
        for name, words in answer.holds_for.items()
    )


def _told(regime: Regime, *without: str) -> str:
    """Return the regime's text less the arm's name, which stands beside it, and these fields; times with their unit."""
    if not isinstance(regime.text, Phrase):
        return regime.text
    shown = regime.text.without("title", *without)
    unit = _unit(regime.metric or "")
    if unit is None or "value" not in shown.fields:
        return shown
    value = phrase("{value} {unit}", value=shown.fields["value"], unit=unit)
    return Phrase.of(shown.template, {**shown.fields, "value": value})


def _unit(metric: str) -> str | None:
    """Return a metric's unit; percentiles that the tables do not show are times, too."""
    measure = (MEASURES | DRAWN).get(metric)
    return measure.unit if measure else "ms" if metric.partition(".")[0].endswith("_ms") else None


def _sure(regime: Regime, summary: Summary) -> str:
    """Return which arms may be as good."""
    if regime.arm is None:
        return MISSING
    if regime.level_with:
        return phrase("{arms} may be as good", arms=listed(regime.level_with))
    if spread_is_assumed(regime, summary):
        return phrase("told apart from every other arm, if repeats differ by {spread:.0%}", spread=SPREAD)
    return phrase("told apart from every other arm")
