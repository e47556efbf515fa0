"""The answer by regime with its scope, in every report."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import Summary
from whichbits.analyze.verdicts import Answer
from whichbits.report.wording import MISSING, plain

NAMES = {
    "low_load": "Low load",
    "high_load_latency": "High load, latency",
    "high_load_throughput": "High load, throughput",
}


@dataclass(frozen=True)
class Row:
    """One regime as reports show it; ``arm`` is a dash where none is named."""

    name: str
    arm: str
    why: str


def rows(summary: Summary) -> tuple[Row, ...]:
    """Return the regimes; nothing without an answer."""
    regimes = () if summary.answer is None else summary.answer.regimes
    return tuple(Row(NAMES[each.regime], each.arm or MISSING, _why(each.arm, each.text)) for each in regimes)


def scope(summary: Summary) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what the answer holds for, what would flip it and what is not known, each with its lines."""
    answer = summary.answer
    if answer is None:
        return ()
    parts = (("Holds for", _held(answer)), ("Would flip it", answer.would_flip), ("Not known", answer.not_known))
    return tuple((title, lines) for title, lines in parts if lines)


def terminal(summary: Summary) -> Iterable[RenderableType]:
    """Return the regimes as a table, and where their scope is told: it fills a terminal."""
    table = Table.grid(padding=(0, 2))
    for row in rows(summary):
        table.add_row(row.name, Text(plain(row.arm), style="bold"), Text(plain(row.why)))
    yield table
    if told := [title[0].lower() + title[1:] for title, _ in scope(summary)]:
        yield Text(f"What it {', what '.join(told).replace('what not', 'what is not')}: see report.html.", style="dim")


def markdown(summary: Summary, escaped: Callable[[str], str]) -> Iterable[str]:
    """Return the regimes as a table of Markdown and their scope as lists; nothing without an answer."""
    if summary.answer is not None:
        lines = ["| regime | serve | by |", "| --- | --- | --- |"]
        lines += [f"| {row.name} | **{escaped(row.arm)}** | {escaped(row.why)} |" for row in rows(summary)]
        yield "\n".join(lines)
    for title, lines_of_scope in scope(summary):
        yield "\n".join([f"{title}:", "", *(f"- {escaped(line)}" for line in lines_of_scope)])


def _held(answer: Answer) -> tuple[str, ...]:
    return tuple(f"{name}: {words or 'not known'}" for name, words in answer.holds_for.items())


def _why(arm: str | None, text: str) -> str:
    """Return the regime's text without the arm's name, which stands beside it."""
    return text if arm is None else text.removeprefix(f"{arm}: ").removeprefix(f"{arm} ")
