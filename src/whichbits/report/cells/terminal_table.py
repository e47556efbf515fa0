"""The table of cells on a terminal: a row an arm and load; repeats as their median and how far they are apart."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import Summary
from whichbits.language.language import Say
from whichbits.language.phrase import phrase
from whichbits.report.cells.measures import MEASURES, Measure
from whichbits.report.cells.pooled import repeats, repeats_text
from whichbits.report.cells.table import Row, Value, groups, has_spread, has_thin
from whichbits.report.fitted import Fitted
from whichbits.report.wording import BEST_LEGEND, MISSING, THIN_LEGEND, plain

_OF_REPEATS = ("ttft_ms.p50", "ttft_ms.p99", "tpot_ms.p50", "tpot_ms.p99", "output_tokens_per_s")
"""With their spread, more do not fit into 80 columns."""

_LEAST = "mean_batch"


@dataclass(frozen=True)
class _Form:
    """Which columns a table has: of several repeats fewer measures and their spread, the client where it is strange."""

    shown: dict[str, Measure]
    repeated: bool
    with_client: bool


def cell_table(summary: Summary, say: Say) -> Fitted:
    """Return the table; where long names would fold, without the measure that is missed least."""
    return Fitted(_table(summary, say), _table(summary, say, without=_LEAST))


def _table(summary: Summary, say: Say, without: str | None = None) -> Table:
    repeated = repeats(summary) > 1
    wanted = _OF_REPEATS if repeated else MEASURES
    shown = {path: measure for path, measure in MEASURES.items() if path in wanted and path != without}
    rows = groups(summary)
    strange = any(row.failed or row.verdict not in ("ok", MISSING) for group in rows for row in group)
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False, header_style="dim")
    form = _Form(shown, repeated, with_client=strange or not repeated)
    _columns(table, form, say)
    for place, group in enumerate(rows):
        if place:
            table.add_row()
        for row in group:
            load = _load(row, summary) if row is group[0] else ""
            table.add_row(*_row(row, form, load, say))
    return table


def cap_text(summary: Summary) -> str:
    """Return the cap that all request rates share: ``at most 32 at once``; empty if there is none."""
    caps = {cell.concurrency for cell in summary.cells}
    rated = all(cell.request_rate is not None for cell in summary.cells)
    return phrase("at most {caps} at once", caps=caps.pop()) if rated and len(caps) == 1 and None not in caps else ""


def legend(summary: Summary, say: Say) -> Text:
    """Return what the marks mean."""
    apart = phrase(
        "± half the range of the {repeats} repeats; the number is their median", repeats=repeats_text(summary)
    )
    parts = [
        BEST_LEGEND,
        *([THIN_LEGEND] if has_thin(summary) else []),
        *([apart] if has_spread(summary) else []),
        phrase("{missing} not known; TTFT, TPOT and ITL in ms", missing=MISSING),
    ]
    return Text("\n" + "\n".join(map(say, parts)), style="dim")


def _columns(table: Table, form: _Form, say: Say) -> None:
    table.add_column(f"\n{say(phrase('load'))}", no_wrap=True)
    table.add_column(f"\n{say(phrase('arm'))}", overflow="fold")
    if not form.repeated:
        table.add_column(f"\n{say(phrase('req'))}", justify="right", no_wrap=True)
        table.add_column(f"\n{say(phrase('fail'))}", justify="right", no_wrap=True)
    for measure in form.shown.values():
        table.add_column("\n".join(f"{say(word)} " for word in measure.heading), justify="right", no_wrap=True)
        if form.repeated:
            table.add_column("", no_wrap=True)
    if form.with_client:
        table.add_column(f"\n{say(phrase('client'))}", no_wrap=True)


def _load(row: Row, summary: Summary) -> str:
    """Return the load, a cap that differs between loads below its rate."""
    rate, _, cap = row.load.partition(" cap ")
    return rate if not cap or cap_text(summary) else f"{rate}\ncap {cap}"


def _row(row: Row, form: _Form, load: str, say: Say) -> Iterator[RenderableType]:
    yield Text(load)
    yield Text(plain(row.arm))
    if not form.repeated:
        yield Text(str(row.requests))
        yield Text(str(row.failed), style="red" if row.failed else "dim")
    for path in form.shown:
        value = row.values[path]
        yield Text(value.marked, style=_style(value))
        if form.repeated:
            yield Text(value.spread_text, style="dim")
    if form.with_client:
        failed = phrase("{failed} failed, ", failed=row.failed) if form.repeated and row.failed else ""
        yield Text(say(failed) + say(row.verdict), style="" if row.verdict in ("ok", MISSING) else "yellow")


def _style(value: Value) -> str:
    return "bold" if value.best else "dim" if value.number is None else ""
