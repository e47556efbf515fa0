"""What a file says, as a person reads it: what is wrong and what it means, then facts with their lines."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.record.inspected_lines import line_numbers
from whichbits.record.inspection import Inspection, Problem
from whichbits.report.inspection.answers import answers
from whichbits.report.inspection.fact_topics import by_topic
from whichbits.report.inspection.meanings import MEANINGS
from whichbits.report.inspection.metric_rows import metric_rows
from whichbits.report.wording import plain

_HINTS = "hints"
_LISTED = {"runs": "run", "responses": "response"}
_RANKS = "ranks"
_NAMED = {"stages": "stage", _RANKS: "rank"}
_ENGINES = ("vllm", "sglang")
"""Facts that hold the facts of several runs, answers, models or engines."""

_OF_FIT = ("requests_at_once", "limited_by")
"""Where they are not known, the sentence above the facts says so."""

_VALUE_WIDTH = 60
_LOGGER_HEAD = re.compile(r"^.{0,200}?\[?[\w./-]+\.py:\d+\] |^\[[\d :,.-]+[A-Z\d ]*\] ")
_LONGEST_SHOWN = 300


def print_inspection(
    name: str, text: str, inspection: Inspection, console: Console, spoken: Language = ENGLISH
) -> None:
    """Print one file's inspection; the number beside a fact is its line in ``text``, without one it was derived."""
    numbers = line_numbers(text, inspection.lines)
    engine = " ".join(part for part in (inspection.engine, inspection.engine_version) if part)
    title = f"  {inspection.kind.replace('_', ' ')}"
    console.print(Text.assemble((_safe(name), "bold"), title, f"  {_safe(engine)}" if engine else ""))
    for problems, style, kind in (
        (inspection.errors, "red", phrase("error")),
        (inspection.warnings, "yellow", phrase("warning")),
        ([Problem(code) for code in inspection.facts.get(_HINTS) or ()], "cyan", phrase("hint")),
    ):
        if problems:
            console.print(_problems(spoken.say(kind), style, problems, spoken))
    for sentence in answers(inspection.facts):
        console.print(Padding(Text(spoken.say(sentence)), (0, 0, 0, 2)))
    for topic, facts in _topics(inspection):
        _print_group(spoken.say(topic), facts, numbers, console, spoken)
    for heading, part in _parts(inspection.facts):
        _print_group(heading, list(part.items()), {}, console, spoken)
    console.print()


def _print_group(
    heading: str, facts: list[tuple[str, Any]], numbers: dict[str, int], console: Console, spoken: Language
) -> None:
    if heading:
        console.print(Text(_safe(heading), style="italic"))
    console.print(_facts(facts, numbers, spoken))


def _topics(inspection: Inspection) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    facts = [
        (name, value) for name, value in inspection.facts.items() if name != _HINTS and not _is_parted(name, value)
    ]
    if inspection.kind == "metrics":
        yield from by_topic(metric_rows(dict(facts)), of_metrics=True).items()
    elif inspection.kind == "startup_log":
        yield from by_topic(fact for fact in facts if fact[0] not in _OF_FIT or fact[1] is not None).items()
    elif facts:
        yield "", facts


def _is_parted(name: str, value: Any) -> bool:
    return (name in _LISTED and isinstance(value, list)) or (name in (*_NAMED, *_ENGINES) and isinstance(value, dict))


def _parts(facts: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the facts of each of several runs, answers, models or engines; of a rank, those in which ranks differ."""
    for name, value in facts.items():
        if not _is_parted(name, value):
            continue
        if name in _LISTED:
            yield from ((f"{_LISTED[name]} {number}", part) for number, part in enumerate(value, 1))
        elif name == _RANKS:
            parts = {rank: {key: fact for key, fact in own.items() if key not in facts} for rank, own in value.items()}
            yield from ((f"rank {rank}", own) for rank, own in parts.items() if own)
        elif name in _NAMED:
            yield from ((f"{_NAMED[name]} {key}", part) for key, part in value.items())
        else:
            yield name, value


def _facts(facts: Iterable[tuple[str, Any]], numbers: dict[str, int], spoken: Language) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=_VALUE_WIDTH)
    table.add_column(no_wrap=True, justify="right", style="dim")
    for name, value in facts:
        line = numbers.get(name)
        table.add_row(
            f"  {_safe(name)}",
            Text(_safe(_words(value))),
            "" if line is None else spoken.say(phrase("line {line}", line=line)),
        )
    return table


def _problems(kind: str, style: str, problems: Iterable[Problem], spoken: Language) -> Group:
    rows: list[RenderableType] = []
    for code, lines in _by_code(problems).items():
        rows.append(Padding(Text.assemble((kind, style), " ", (_safe(code), f"bold {style}")), (0, 0, 0, 2)))
        rows += [Padding(Text(tell(MEANINGS[code], spoken)), (0, 0, 0, 4))] if code in MEANINGS else []
        rows += [Padding(Text(_shortened(line), style="dim", overflow="fold"), (0, 0, 0, 4)) for line in lines]
    return Group(*rows)


def _by_code(problems: Iterable[Problem]) -> dict[str, list[str]]:
    """Join problems of one code, as several responses or runs have them: each line under one sentence."""
    lines: dict[str, list[str]] = {}
    for problem in problems:
        lines.setdefault(problem.code, [])
        lines[problem.code] += [problem.line] if problem.line else []
    return lines


def _shortened(line: str) -> str:
    """Return what is said in a line, without the process, time and file in front of it."""
    said = _LOGGER_HEAD.sub("", line) or line
    return _safe(said if len(said) <= _LONGEST_SHOWN else f"{said[:_LONGEST_SHOWN]}\N{HORIZONTAL ELLIPSIS}")


def _safe(text: str) -> str:
    """Return text that cannot steer a terminal, nor fail to be written."""
    return plain(text).encode(errors="replace").decode()


def _words(value: Any) -> str:
    match value:
        case None | bool():
            return {None: "none", True: "yes", False: "no"}[value]
        case list():
            return _joined([str(entry) if isinstance(entry, int) else _words(entry) for entry in value], value)
        case dict():
            return _joined([f"{key}: {_words(entry)}" for key, entry in value.items()], value.values())
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case _:
            return str(value)


def _joined(parts: list[str], values: Iterable[Any]) -> str:
    """Put each group of facts, such as a rank's, on a line of its own."""
    return ("\n" if any(isinstance(value, dict) for value in values) else ", ").join(parts)
