"""The report on a terminal or in a log: the answer first, 80 columns, readable without colour."""

import io
from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import Crossover, Finding, Summary
from whichbits.record.schema import Manifest
from whichbits.report import cost
from whichbits.report.cost import cost_headings, cost_rows
from whichbits.report.measures import MEASURES, headlines, name_of
from whichbits.report.table import Row, Value, groups, has_thin
from whichbits.report.wording import (
    BEST_LEGEND,
    FINDING_KINDS,
    LOAD_NAMES,
    MISSING,
    THIN_LEGEND,
    claim,
    count,
    leader_text,
    number,
    plain,
    short_version,
    verdict_texts,
)


def text(summary: Summary, manifest: Manifest) -> Mapping[str, bytes]:
    """Return ``report.txt``: the terminal report as a log shows it."""
    page = io.StringIO()
    print_summary(summary, manifest, Console(file=page, width=80, no_color=True, force_terminal=False))
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    return {"report.txt": ("\n".join(lines) + "\n").encode()}


def print_summary(summary: Summary, manifest: Manifest, console: Console) -> None:
    """Print the whole report; where its files lie is said by whoever wrote them."""
    console.print(Group(*_sections(summary, manifest)))


def _sections(summary: Summary, manifest: Manifest) -> Iterable[RenderableType]:
    yield _title(summary, manifest)
    if summary.recommendation:
        yield _section("Answer", _answer(summary))
    yield _section(f"Cells by {LOAD_NAMES[summary.load_unit]}", _cells(summary), _legend(summary))
    if costs := cost_rows(summary):
        yield _section(cost.TITLE, _filled(_table(*map(plain, cost_headings(summary))), costs))
    yield _section("Arms", _arms(summary))
    if compared := headlines(summary):
        yield _section("Where arms trade places", _crossovers(compared))
    if summary.findings:
        yield _section("Findings", *_findings(summary.findings))


def _section(title: str, *body: RenderableType) -> RenderableType:
    return Group(Text(""), Text(title, style="bold"), *(Padding(part, (0, 0, 0, 1)) for part in body))


def _title(summary: Summary, manifest: Manifest) -> Text:
    line = Text.assemble((plain(summary.study), "bold"), "  ", (f"{summary.source}, {manifest.created}", "dim"))
    if summary.interrupted:
        line.append("\nInterrupted: only the cells that finished are shown.", style="yellow")
    return line


def _answer(summary: Summary) -> Table:
    table = Table.grid(padding=(0, 2))
    for entry in summary.recommendation:
        table.add_row(name_of(entry.metric), Text(plain(claim(entry)), style="bold"))
    return table


def _arms(summary: Summary) -> Table:
    table = _table("arm", "bits", "weights", "KV tokens", "kernel", "engine")
    for arm in summary.arms.values():
        weights = MISSING if arm.weights_gib is None else f"{number(arm.weights_gib)} GiB"
        engine = " ".join(filter(None, (arm.engine, short_version(arm.engine_version))))
        parts = (
            arm.arm,
            arm.weight_format,
            weights,
            count(arm.kv_cache_tokens),
            arm.kernel or MISSING,
            engine,
        )
        table.add_row(*(Text(plain(part)) for part in parts))
    return table


def _cells(summary: Summary) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False, header_style="dim")
    table.add_column("\nload", no_wrap=True)
    table.add_column("\narm", overflow="fold")
    table.add_column("\nreq", justify="right", no_wrap=True)
    table.add_column("\nfail", justify="right", no_wrap=True)
    for measure in MEASURES.values():
        table.add_column("\n".join(f"{word} " for word in measure.heading), justify="right", no_wrap=True)
    table.add_column("\nclient", no_wrap=True)
    for place, group in enumerate(groups(summary)):
        if place:
            table.add_row()
        for row in group:
            table.add_row(*_row(row, first=row is group[0]))
    return table


def _row(row: Row, *, first: bool) -> Iterable[RenderableType]:
    cell = row.cell
    yield Text(row.load if first else "")
    yield Text(plain(row.name))
    yield Text(str(cell.requests))
    yield Text(str(cell.failed), style="red" if cell.failed else "dim")
    for value in row.values.values():
        yield _value(value)
    yield Text(row.verdict, style="" if row.verdict in ("ok", MISSING) else "yellow")


def _value(value: Value) -> Text:
    style = "bold" if value.best else "dim" if value.number is None else ""
    return Text(value.marked, style=style)


def _legend(summary: Summary) -> Text:
    units = "TTFT, TPOT and ITL in ms"
    parts = [BEST_LEGEND, *([THIN_LEGEND] if has_thin(summary) else []), f"{MISSING} not known", units]
    return Text("\n" + "\n".join(parts), style="dim")


def _crossovers(crossovers: tuple[Crossover, ...]) -> Table:
    table = _table("metric", "arms", "cross at load (interval)", "leader, low to high")
    metric = None
    for crossover in crossovers:
        name = "" if crossover.metric == metric else name_of(crossover.metric)
        metric = crossover.metric
        words = (" / ".join(crossover.arms), "\n".join(verdict_texts(crossover)), leader_text(crossover))
        table.add_row(name, *(Text(plain(part)) for part in words))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _filled(table: Table, rows: Iterable[tuple[str, ...]]) -> Table:
    for row in rows:
        table.add_row(*(Text(plain(part)) for part in row))
    return table


def _findings(findings: tuple[Finding, ...]) -> Iterable[RenderableType]:
    for kind, (title, _) in FINDING_KINDS.items():
        chosen = [finding for finding in findings if finding.kind == kind]
        if not chosen:
            continue
        table = Table.grid(padding=(0, 1))
        for finding in chosen:
            words = Text(plain(finding.text))
            words.append(f"  [{plain(finding.code)}]", style="dim")
            for evidence in finding.evidence:
                words.append(f"\n{plain(evidence)}", style="dim")
            table.add_row("-", words)
        yield Group(Text(title, style="italic"), table)
