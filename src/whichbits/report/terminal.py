"""The report on a terminal or in a log: the answer first, 80 columns, readable without colour."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from whichbits.analyze.activations import activation_words, quantised
from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.summary import Crossover, Summary
from whichbits.analyze.summary.source import SOURCES
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Language, Say
from whichbits.language.phrase import joined, listed, phrase
from whichbits.record.schema import Manifest
from whichbits.report.answer import cost, predicted, predictions, regimes
from whichbits.report.answer.cost import cost_headings, cost_rows
from whichbits.report.answer.important import in_short, most_important
from whichbits.report.answer.validity import answer_text, doubts, scope_text
from whichbits.report.cells.measures import headlines, name_of
from whichbits.report.cells.terminal_table import cap_text, cell_table, legend
from whichbits.report.grid import grid
from whichbits.report.sheets import Sheet
from whichbits.report.sheets.cache import hit_rates
from whichbits.report.sheets.quality import distances, sentences
from whichbits.report.sheets.replicas import replicas
from whichbits.report.sheets.slo import service_level, slo_words
from whichbits.report.shown import shown
from whichbits.report.terminal_parts import filled, print_parts, section, sheet_table, table_of
from whichbits.report.wording import (
    LOAD_NAMES,
    MISSING,
    count,
    crossing,
    interruption,
    leader_text,
    number,
    others,
    plain,
    resume_command,
    resumptions,
    short_version,
    verdict_texts,
)

_MOST_FINDINGS = 8
_MOST_POINTS = 200
_MOST_ROWS = 60
_MOST_PAIRS = 6
_FINDING_LENGTH = 142
_SLO_SHARE = 0.99
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
    print_parts(console, [*_head(summary, manifest, spoken.say), *_answers(summary, spoken.say)])
    print_parts(console, _evidence(summary, manifest, spoken.say))
    return {"report.txt": page.getvalue().encode()}


def print_summary(
    summary: Summary, manifest: Manifest, console: Console, folder: str | None = None, spoken: Language = ENGLISH
) -> None:
    """Print the whole report, the answer last, where a terminal and the end of a log show it.

    Where its files lie is said by whoever wrote them. ``folder`` is the run's, as the user wrote it.
    """
    print_parts(console, [_title(summary, manifest, spoken.say)])
    print_parts(console, _evidence(summary, manifest, spoken.say))
    print_parts(console, _answers(summary, spoken.say, last=True))
    if summary.interrupted:
        print_parts(console, [Text(""), _interruption(summary, folder or summary.run, spoken.say)])


def _head(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    yield _title(summary, manifest, say)
    if summary.interrupted:
        yield _interruption(summary, summary.run, say)


def _answers(summary: Summary, say: Say, *, last: bool = False) -> list[RenderableType]:
    """Return what to serve: by regime and by metric, the more important at the outer end."""
    answers: list[RenderableType] = []
    if summary.answer is not None:
        answers.append(section(say(phrase("Answer")), "", *regimes.terminal(summary, say)))
    if summary.recommendation:
        title = phrase("Answer") if summary.answer is None else phrase("By metric")
        answers.append(section(say(title), say(scope_text(summary)), _answer(summary, say)))
    return answers[::-1] if last else answers


def _evidence(whole: Summary, of_run: Manifest, say: Say) -> Iterator[RenderableType]:
    drawn = shown(whole, of_run, most_points=_MOST_POINTS)
    summary, manifest = drawn.summary, drawn.manifest
    unit = LOAD_NAMES[summary.load_unit]
    for rule in drawn.rules:
        yield Group(Text(""), Text(plain(say(rule)), style="dim"))
    if summary.predictions:
        yield section(say(predictions.TITLE), "", predictions.terminal(summary, say))
    if summary.cells:
        title, cap = phrase("Cells by {unit}", unit=unit), cap_text(summary)
        yield section(say(title), say(cap), cell_table(summary, say), legend(summary, say))
    yield from _intervals(summary, say)
    if costs := cost_rows(summary):
        table = table_of(*(plain(say(heading)) for heading in cost_headings(summary)))
        yield section(say(cost.TITLE), "", filled(table, costs, say))
    yield section(say(phrase("Arms")), "", _arms(summary, say), *_activations(summary, say))
    yield from _quality(summary, manifest, say)
    yield from _service_level(summary, manifest, say)
    yield from _caches(summary, manifest, say)
    if compared := headlines(summary):
        yield section(say(phrase("Where arms trade places")), "", *_crossovers(compared, say))
    if whole.findings:
        yield section(say(phrase("Findings")), "", *_findings(whole, say))


def _intervals(summary: Summary, say: Say) -> Iterator[RenderableType]:
    """Show what a prediction leaves open; of a measured run the curves do."""
    if predicted.is_predicted(summary) and (rows := predicted.interval_rows(summary)):
        table = table_of(*map(say, predicted.HEADINGS), numbers=(2, 3, 4))
        yield section(say(predicted.TITLE), say(predicted.UNITS), filled(table, rows, say))


def _title(summary: Summary, manifest: Manifest, say: Say) -> Text:
    made = f"{say(SOURCES[summary.source])}, {manifest.created}"
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
    table = table_of(*map(say, (*headings, phrase("engine"))), numbers=(2, 3))
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
            body += [Text(""), *_sheet(sheet, say)]
        yield section(say(phrase("What the bits cost in answers")), "", *body)


def _service_level(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    sheet = service_level(summary, manifest)
    if sheet is None:
        return
    body = [*_sheet(sheet, say)]
    if not any(cell.slo_share is not None and cell.slo_share >= _SLO_SHARE for cell in summary.cells):
        nobody = phrase("No arm holds it at any load of the run: that is exit code 5.")
        body.append(Text(say(nobody), style="yellow"))
    bounds = slo_words(manifest) if manifest.study.get("slo") else ""
    yield section(say(phrase("Requests that hold the SLO")), say(bounds), *body)


def _caches(summary: Summary, manifest: Manifest, say: Say) -> Iterator[RenderableType]:
    """Show the replicas where there are several, else the prefix cache where it was of use."""
    if sheet := replicas(summary, manifest):
        yield section(say(phrase("Replicas")), say(phrase("prefix cache in tokens")), *_sheet(sheet, say))
    elif any(cell.prefix_hit_rate for cell in summary.cells) and (sheet := hit_rates(summary, manifest)):
        yield section(say(phrase("Prefix cache")), "", *_sheet(sheet, say))


def _sheet(sheet: Sheet, say: Say) -> Iterator[RenderableType]:
    """Return the table, and how many rows it lacks where a terminal has no room for all."""
    yield sheet_table(replace(sheet, rows=sheet.rows[:_MOST_ROWS]), say)
    yield from _left_out(len(sheet.rows) - _MOST_ROWS, say)


def _left_out(rows: int, say: Say) -> Iterator[RenderableType]:
    if rows > 0:
        yield Text(say(phrase("Left out here: {rows}; see report.html.", rows=amount(rows, "row"))), style="dim")


def _crossovers(crossovers: tuple[Crossover, ...], say: Say) -> Iterator[RenderableType]:
    """Show every pair where they are few, else those that cross."""
    told = crossovers
    if len(crossovers) > _MOST_PAIRS:
        told = crossing(crossovers)
    if told:
        yield _pairs(told[:_MOST_ROWS], say)
        yield from _left_out(len(told) - _MOST_ROWS, say)
    if len(told) < len(crossovers):
        yield Text(say(others(crossovers)), "dim")


def _pairs(crossovers: Iterable[Crossover], say: Say) -> Table:
    headings = (phrase("cross at load (interval)"), phrase("leader, low to high"))
    table = table_of(*map(say, (phrase("metric"), phrase("arms"), *headings)))
    metric = None
    for crossover in crossovers:
        name = "" if crossover.metric == metric else name_of(crossover.metric)
        metric = crossover.metric
        verdicts = "\n".join(map(say, verdict_texts(crossover)))
        words = (" / ".join(crossover.arms), verdicts, say(leader_text(crossover)))
        table.add_row(say(name), *(Text(plain(part)) for part in words))
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
