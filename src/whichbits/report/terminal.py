"""The report on a terminal or in a log: the answer first, 80 columns, readable without colour."""

import io
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import Crossover, Summary
from whichbits.record.schema import Manifest
from whichbits.report import cost, predictions, regimes
from whichbits.report.cell_table import cap_text, cell_table, legend
from whichbits.report.cost import cost_headings, cost_rows
from whichbits.report.important import in_short, most_important
from whichbits.report.measures import headlines, name_of
from whichbits.report.sheets import Sheet
from whichbits.report.sheets.cache import hit_rates
from whichbits.report.sheets.quality import distances, sentences
from whichbits.report.sheets.replicas import replicas
from whichbits.report.sheets.slo import service_level, slo_words
from whichbits.report.validity import answer_text, doubts, loads_text
from whichbits.report.wording import (
    LOAD_NAMES,
    MISSING,
    count,
    interruption,
    leader_text,
    number,
    plain,
    resume_command,
    short_version,
    verdict_texts,
)

_MOST_FINDINGS = 8
_MOST_PAIRS = 6
_FINDING_LENGTH = 142
_SLO_SHARE = 0.99
_IN_TABLES = ("crossover", "slo_load", "quality_price", "quality_same", "quality_reference_quantised")


def text(summary: Summary, manifest: Manifest) -> Mapping[str, bytes]:
    """Return ``report.txt``: the terminal report as a log shows it."""
    page = io.StringIO()
    print_summary(summary, manifest, Console(file=page, width=80, no_color=True, force_terminal=False))
    return {"report.txt": page.getvalue().encode()}


def print_summary(summary: Summary, manifest: Manifest, console: Console, folder: str | None = None) -> None:
    """Print the whole report; where its files lie is said by whoever wrote them.

    ``folder`` is the run's, as the user wrote it.
    """
    for line in console.render_lines(Group(*_sections(summary, manifest, folder or summary.run)), pad=False):
        console.print(Segments([*_trimmed(line), Segment.line()]), soft_wrap=True)


def _trimmed(line: list[Segment]) -> list[Segment]:
    """Cut the blanks that tables pad their cells with."""
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


def _sections(summary: Summary, manifest: Manifest, folder: str) -> Iterator[RenderableType]:
    yield _title(summary, manifest, folder)
    if summary.answer is not None:
        yield _section("Answer", "", *regimes.terminal(summary))
    if summary.recommendation:
        title = "Answer" if summary.answer is None else "By metric"
        loads = f"{LOAD_NAMES[summary.load_unit]}, measured at {loads_text(summary)}"
        yield _section(title, loads, _answer(summary))
    if summary.predictions:
        yield _section("Predictions", "", predictions.terminal(summary))
    if summary.cells:
        yield _section(
            f"Cells by {LOAD_NAMES[summary.load_unit]}", cap_text(summary), cell_table(summary), legend(summary)
        )
    if costs := cost_rows(summary):
        yield _section(cost.TITLE, "", _filled(_table(*map(plain, cost_headings(summary))), costs))
    yield _section("Arms", "", _arms(summary))
    yield from _quality(summary, manifest)
    yield from _service_level(summary, manifest)
    yield from _caches(summary, manifest)
    if compared := headlines(summary):
        yield _section("Where arms trade places", "", *_crossovers(compared))
    if summary.findings:
        yield _section("Findings", "", *_findings(summary))


def _section(title: str, more: str, *body: RenderableType) -> RenderableType:
    head = Text.assemble((title, "bold"), (f"  {more}" if more else "", "dim"))
    return Group(Text(""), head, *(Padding(part, (0, 0, 0, 1)) for part in body))


def _title(summary: Summary, manifest: Manifest, folder: str) -> Text:
    line = Text.assemble((plain(summary.study), "bold"), "  ", (f"{summary.source}, {manifest.created}", "dim"))
    if summary.interrupted:
        line.append(f"\nInterrupted: {interruption(summary)}. Go on with", style="yellow")
        line.append(f"\n  {plain(resume_command(summary, folder))}", style="bold")
    return line


def _answer(summary: Summary) -> Table:
    table = Table.grid(padding=(0, 2))
    for entry in summary.recommendation:
        words = Text(plain(answer_text(entry)), style="bold")
        if doubted := doubts(entry, summary, beside_text=True):
            words.append(f"  ({'; '.join(doubted)})", style="dim not bold")
        table.add_row(name_of(entry.metric), words)
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
            (arm.kernel or MISSING).removesuffix("LinearKernel"),
            engine,
        )
        table.add_row(*(Text(plain(part)) for part in parts))
    return table


def _quality(summary: Summary, manifest: Manifest) -> Iterator[RenderableType]:
    if said := list(sentences(summary)):
        table = Table.grid(padding=(0, 1))
        for sentence in said:
            table.add_row("-", Text(plain(sentence)))
        body: list[RenderableType] = [table]
        if sheet := distances(summary, manifest):
            body += [Text(""), _sheet(sheet)]
        yield _section("What the bits cost in answers", "", *body)


def _service_level(summary: Summary, manifest: Manifest) -> Iterator[RenderableType]:
    sheet = service_level(summary, manifest)
    if sheet is None:
        return
    body: list[RenderableType] = [_sheet(sheet)]
    if not any(cell.slo_share is not None and cell.slo_share >= _SLO_SHARE for cell in summary.cells):
        body.append(Text("No arm holds it at any load measured: that is exit code 5.", style="yellow"))
    yield _section("Requests that hold the SLO", slo_words(manifest) if manifest.study.get("slo") else "", *body)


def _caches(summary: Summary, manifest: Manifest) -> Iterator[RenderableType]:
    """Show the replicas where there are several, else the prefix cache where it was of use."""
    if sheet := replicas(summary, manifest):
        yield _section("Replicas", "prefix cache in tokens", _sheet(sheet))
    elif any(cell.prefix_hit_rate for cell in summary.cells) and (sheet := hit_rates(summary, manifest)):
        yield _section("Prefix cache", "", _sheet(sheet))


def _sheet(sheet: Sheet) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, heading in enumerate(sheet.headings):
        is_load = 0 < place < sheet.words
        table.add_column(heading, justify="left" if place < sheet.words else "right", overflow="fold", no_wrap=is_load)
    before: tuple[str, ...] = ()
    for row in sheet.rows:
        # What a row has in common with the one above is not said again.
        said = [
            "" if place < sheet.words - 1 and row[: place + 1] == before[: place + 1] else cell
            for place, cell in enumerate(row)
        ]
        table.add_row(*(Text(plain(cell)) for cell in said))
        before = row
    return table


def _crossovers(crossovers: tuple[Crossover, ...]) -> Iterator[RenderableType]:
    """Show every pair where they are few, else those that cross."""
    shown = crossovers
    if len(crossovers) > _MOST_PAIRS:
        shown = tuple(crossover for crossover in crossovers if crossover.verdict == "crosses")
    if shown:
        yield _pairs(shown)
    if len(shown) < len(crossovers):
        verdicts = [crossover.verdict for crossover in crossovers]
        kinds = (("none", "without a crossing"), ("tie", "tied"), ("noisy", "too noisy to say"))
        others = [f"{verdicts.count(verdict)} {words}" for verdict, words in kinds if verdict in verdicts]
        yield Text(f"Of {len(crossovers)} comparisons {', '.join(others)}: see report.html.", style="dim")


def _pairs(crossovers: Iterable[Crossover]) -> Table:
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


def _findings(summary: Summary) -> Iterator[RenderableType]:
    """Show the few most important, each once; those that a table above tells are left to the reports."""
    told = [finding for finding in summary.findings if finding.code not in _IN_TABLES]
    shown = most_important(told, _MOST_FINDINGS)
    table = Table.grid(padding=(0, 1))
    for finding, alike in shown:
        words = Text(plain(in_short(finding.text, _FINDING_LENGTH - len(finding.code))))
        words.append(f"  [{plain(finding.code)}{f', {alike} more' if alike else ''}]", style="dim")
        table.add_row("-", words)
    yield table
    if more := len(summary.findings) - len(shown):
        yield Text(f"{more} more in report.html, all with their evidence.", style="dim")
