"""The report on a terminal or in a log: the answer first, 80 columns, readable without colour."""

import io
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from whichbits.analyze.activations import activation_words, quantised
from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.summary import Crossover, Summary
from whichbits.language.language import ENGLISH, Language, Say
from whichbits.language.phrase import joined, listed, phrase
from whichbits.record.schema import Manifest
from whichbits.report.answer import cost, predicted, predictions, regimes
from whichbits.report.answer.cost import cost_headings, cost_rows
from whichbits.report.answer.important import in_short, most_important
from whichbits.report.answer.validity import answer_text, doubts, scope_text
from whichbits.report.cells.measures import headlines, name_of
from whichbits.report.cells.terminal_table import cap_text, cell_table, legend
from whichbits.report.fitted import Fitted
from whichbits.report.grid import grid
from whichbits.report.sheets import Sheet
from whichbits.report.sheets.cache import hit_rates
from whichbits.report.sheets.quality import distances, sentences
from whichbits.report.sheets.replicas import replicas
from whichbits.report.sheets.slo import service_level, slo_words
from whichbits.report.wording import (
    LOAD_NAMES,
    MISSING,
    count,
    interruption,
    leader_text,
    number,
    plain,
    resume_command,
    resumptions,
    short_version,
    verdict_texts,
)

_MOST_FINDINGS = 8
_MOST_PAIRS = 6
_FINDING_LENGTH = 142
_SLO_SHARE = 0.99
_NOT_CROSSING = {
    "none": phrase("without a crossing"),
    "tie": phrase("tied"),
    "noisy": phrase("too noisy to say"),
}
_SOURCES = {"measured": phrase("measured"), "imported": phrase("imported"), "predicted": phrase("predicted")}
_IN_TABLES = ("crossover", "slo_load", "quality_price", "quality_same", "quality_reference_quantised")


def text(
    summary: Summary,
    manifest: Manifest,
    spoken: Language = ENGLISH,
    requests: Sequence[CellRequests] = (),  # noqa: ARG001 - a Reporter
) -> Mapping[str, bytes]:
    """Return ``report.txt``: the terminal report as a log shows it."""
    page = io.StringIO()
    console = Console(file=page, width=80, no_color=True, force_terminal=False)
    _print(console, [*_head(summary, manifest, spoken.say), *_answers(summary, spoken.say)])
    _print(console, _evidence(summary, manifest, spoken.say))
    return {"report.txt": page.getvalue().encode()}


def print_summary(
    summary: Summary, manifest: Manifest, console: Console, folder: str | None = None, spoken: Language = ENGLISH
) -> None:
    """Print the whole report, the answer last, where a terminal and the end of a log show it.

    Where its files lie is said by whoever wrote them. ``folder`` is the run's, as the user wrote it.
    """
    _print(console, [_title(summary, manifest, spoken.say)])
    _print(console, _evidence(summary, manifest, spoken.say))
    _print(console, _answers(summary, spoken.say, last=True))
    if summary.interrupted:
        _print(console, [Text(""), _interruption(summary, folder or summary.run, spoken.say)])


def _print(console: Console, parts: Iterable[RenderableType]) -> None:
    for line in console.render_lines(Group(*parts), pad=False):
        console.print(Segments([*_trimmed(line), Segment.line()]), soft_wrap=True)


def _trimmed(line: list[Segment]) -> list[Segment]:
    """Cut the blanks that tables pad their cells with."""
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


def _head(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    yield _title(summary, manifest, say)
    if summary.interrupted:
        yield _interruption(summary, summary.run, say)


def _answers(summary: Summary, say: Say, *, last: bool = False) -> list[RenderableType]:
    """Return what to serve: by regime and by metric, the more important at the outer end."""
    answers: list[RenderableType] = []
    if summary.answer is not None:
        answers.append(_section(say(phrase("Answer")), "", *regimes.terminal(summary, say)))
    if summary.recommendation:
        title = phrase("Answer") if summary.answer is None else phrase("By metric")
        answers.append(_section(say(title), say(scope_text(summary)), _answer(summary, say)))
    return answers[::-1] if last else answers


def _evidence(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    unit = LOAD_NAMES[summary.load_unit]
    if summary.predictions:
        yield _section(say(predictions.TITLE), "", predictions.terminal(summary, say))
    if summary.cells:
        title, cap = phrase("Cells by {unit}", unit=unit), cap_text(summary)
        yield _section(say(title), say(cap), cell_table(summary, say), legend(summary, say))
    yield from _intervals(summary, say)
    if costs := cost_rows(summary):
        table = _table(*(plain(say(heading)) for heading in cost_headings(summary)))
        yield _section(say(cost.TITLE), "", _filled(table, costs, say))
    yield _section(say(phrase("Arms")), "", _arms(summary, say), *_activations(summary, say))
    yield from _quality(summary, manifest, say)
    yield from _service_level(summary, manifest, say)
    yield from _caches(summary, manifest, say)
    if compared := headlines(summary):
        yield _section(say(phrase("Where arms trade places")), "", *_crossovers(compared, say))
    if summary.findings:
        yield _section(say(phrase("Findings")), "", *_findings(summary, say))


def _intervals(summary: Summary, say: Say) -> Iterator[RenderableType]:
    """Show what a prediction leaves open; of a measured run the curves do."""
    if predicted.is_predicted(summary) and (rows := predicted.interval_rows(summary)):
        table = _table(*map(say, predicted.HEADINGS), numbers=(2, 3, 4))
        yield _section(say(predicted.TITLE), say(predicted.UNITS), _filled(table, rows, say))


def _section(title: str, more: str, *body: RenderableType) -> RenderableType:
    head = Text.assemble((title, "bold"), (f"  {more}" if more else "", "dim"))
    return Group(Text(""), head, *(Padding(_fitted(part), (0, 0, 0, 1)) for part in body))


def _fitted(part: RenderableType) -> RenderableType:
    """Return a table with headings as one that a narrow terminal gets in another form."""
    return Fitted(part) if isinstance(part, Table) and part.show_header else part


def _title(summary: Summary, manifest: Manifest, say: Say) -> Text:
    made = f"{say(_SOURCES[summary.source])}, {manifest.created}"
    title = Text.assemble((plain(summary.study), "bold"), "  ", (made, "dim"))
    if resumed := resumptions(manifest):
        title.append(f"\n{plain(say(resumed))}", style="dim")
    if predicted.is_predicted(summary):
        title.append(f"\n{plain(say(predicted.banner(summary)))}", style="bold yellow")
    return title


def _interruption(summary: Summary, folder: str, say: Say) -> Text:
    stopped = phrase("Interrupted: {interruption}. Go on with", interruption=interruption(summary))
    command = plain(resume_command(summary, folder))
    return Text.assemble((say(stopped), "yellow"), "\n  ", (command, "bold"))


def _answer(summary: Summary, say: Say) -> Table:
    table = grid(2, gap=2)
    for entry in summary.recommendation:
        words = Text(plain(say(answer_text(entry, summary))), style="bold")
        if doubted := doubts(entry, summary, beside_text=True):
            words.append(f"  ({say(joined('; ', doubted))})", style="dim not bold")
        table.add_row(say(name_of(entry.metric)), words)
    return table


def _arms(summary: Summary, say: Say) -> Table:
    headings = (phrase("arm"), phrase("bits"), phrase("weights"), phrase("KV tokens"), phrase("kernel"))
    table = _table(*map(say, (*headings, phrase("engine"))), numbers=(2, 3))
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


def _activations(summary: Summary, say: Say) -> Iterator[RenderableType]:
    """Say what a probe found of narrow activations: a kernel's name tells the type of the rest only."""
    for found in (True, False):
        arms = [arm for arm in summary.arms.values() if quantised(arm) is found]
        if arms:
            words = activation_words(arms[0]) or MISSING
            told = phrase("Activations of {arms}: {words}.", arms=listed(arm.arm for arm in arms), words=words)
            yield Text(plain(say(told)), style="dim")


def _quality(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    if said := list(sentences(summary)):
        table = grid(2, gap=1)
        for sentence in said:
            table.add_row("-", Text(plain(say(sentence))))
        body: list[RenderableType] = [table]
        if sheet := distances(summary, manifest):
            body += [Text(""), _sheet(sheet, say)]
        yield _section(say(phrase("What the bits cost in answers")), "", *body)


def _service_level(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    sheet = service_level(summary, manifest)
    if sheet is None:
        return
    body: list[RenderableType] = [_sheet(sheet, say)]
    if not any(cell.slo_share is not None and cell.slo_share >= _SLO_SHARE for cell in summary.cells):
        nobody = phrase("No arm holds it at any load measured: that is exit code 5.")
        body.append(Text(say(nobody), style="yellow"))
    bounds = slo_words(manifest) if manifest.study.get("slo") else ""
    yield _section(say(phrase("Requests that hold the SLO")), say(bounds), *body)


def _caches(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    """Show the replicas where there are several, else the prefix cache where it was of use."""
    if sheet := replicas(summary, manifest):
        yield _section(say(phrase("Replicas")), say(phrase("prefix cache in tokens")), _sheet(sheet, say))
    elif any(cell.prefix_hit_rate for cell in summary.cells) and (sheet := hit_rates(summary, manifest)):
        yield _section(say(phrase("Prefix cache")), "", _sheet(sheet, say))


def _sheet(sheet: Sheet, say: Say) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, heading in enumerate(sheet.headings):
        is_load = 0 < place < sheet.words
        side: JustifyMethod = "left" if place < sheet.words else "right"
        table.add_column(say(heading), justify=side, overflow="fold", no_wrap=is_load)
    before: tuple[str, ...] = ()
    for row in sheet.rows:
        # What a row has in common with the one above is not said again.
        said = [
            "" if place < sheet.words - 1 and row[: place + 1] == before[: place + 1] else cell
            for place, cell in enumerate(row)
        ]
        table.add_row(*(Text(plain(say(cell))) for cell in said))
        before = row
    return table


def _crossovers(crossovers: tuple[Crossover, ...], say: Say) -> Iterator[RenderableType]:
    """Show every pair where they are few, else those that cross."""
    shown = crossovers
    if len(crossovers) > _MOST_PAIRS:
        shown = tuple(crossover for crossover in crossovers if crossover.verdict == "crosses")
    if shown:
        yield _pairs(shown, say)
    if len(shown) < len(crossovers):
        verdicts = [crossover.verdict for crossover in crossovers]
        others = [
            phrase("{count} {words}", count=verdicts.count(verdict), words=words)
            for verdict, words in _NOT_CROSSING.items()
            if verdict in verdicts
        ]
        total, rest = len(crossovers), joined(", ", others)
        yield Text(say(phrase("Of {count} comparisons {others}: see report.html.", count=total, others=rest)), "dim")


def _pairs(crossovers: Iterable[Crossover], say: Say) -> Table:
    headings = (phrase("cross at load (interval)"), phrase("leader, low to high"))
    table = _table(*map(say, (phrase("metric"), phrase("arms"), *headings)))
    metric = None
    for crossover in crossovers:
        name = "" if crossover.metric == metric else name_of(crossover.metric)
        metric = crossover.metric
        verdicts = "\n".join(map(say, verdict_texts(crossover)))
        words = (" / ".join(crossover.arms), verdicts, say(leader_text(crossover)))
        table.add_row(say(name), *(Text(plain(part)) for part in words))
    return table


def _table(*headings: str, numbers: Container[int] = ()) -> Table:
    """Return a table without rows; columns that hold ``numbers`` end at the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", justify="right" if place in numbers else "left")
    return table


def _filled(table: Table, rows: Iterable[tuple[str, ...]], say: Say) -> Table:
    for row in rows:
        table.add_row(*(Text(plain(say(part))) for part in row))
    return table


def _findings(summary: Summary, say: Say) -> Iterator[RenderableType]:
    """Show the few most important, each once; those that a table above tells are left to the reports."""
    told = [finding for finding in summary.findings if finding.code not in _IN_TABLES]
    shown = most_important(told, _MOST_FINDINGS)
    table = grid(2, gap=1)
    for finding, alike in shown:
        words = Text(plain(in_short(say(finding.text), _FINDING_LENGTH - len(finding.code))))
        more = say(phrase(", {alike} more", alike=alike)) if alike else ""
        words.append(f"  [{plain(finding.code)}{more}]", style="dim")
        table.add_row("-", words)
    yield table
    if left := len(summary.findings) - len(shown):
        yield Text(say(phrase("{left} more in report.html, all with their evidence.", left=left)), style="dim")
