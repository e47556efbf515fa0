"""Pages as text: templates filled with what is known of runs."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from whichbits.analyze.comparison.comparison import Comparison, Row
from whichbits.errors import WhichbitsError
from whichbits.record.run import Run
from whichbits.record.schema import Cell
from whichbits.report.comparison.terminal import (
    VERDICTS,
    change_text,
    interval_text,
    load_text,
    method_text,
    metric_name,
    names_of,
    refusals,
    remarks,
    shown,
)
from whichbits.report.wording import number
from whichbits.study.model import load_name
from whichbits.view.catalogue import Entry
from whichbits.view.files import RunFile
from whichbits.view.selection import COLUMNS, Selection

_NS = 1e9
_KIB = 1024


def runs(folder: Path, entries: Sequence[Entry], selection: Selection) -> str:
    """Return the list of runs."""
    return _fill(
        "runs.html.j2",
        folder=folder,
        total=len(entries),
        entries=selection.choose(entries),
        selection=selection,
        columns=COLUMNS,
    )


def run(entry: Entry, recorded: Run, held: Sequence[RunFile], others: Sequence[Entry]) -> str:
    """Return the page of one run."""
    rows = [cell_row(cell) for cell in recorded.cells]
    return _fill("run.html.j2", entry=entry, notes=recorded.manifest.notes, rows=rows, files=held, others=others)


def comparison(found: Comparison, entries: Sequence[Entry]) -> str:
    """Return the comparison of runs; the first is the baseline."""
    told = [
        {
            "pair": pair,
            "rows": [_compared(row) for row in shown(pair)],
            "method": method_text(pair, found.margin),
            "refusals": {reason: names_of(rows) for reason, rows in refusals(pair).items()},
            "remarks": {reason: names_of(rows) for reason, rows in remarks(pair).items()},
        }
        for pair in found.pairs
    ]
    return _fill("compare.html.j2", pairs=told, entries=entries)


def problem(title: str, text: str) -> str:
    """Return a page that says what is the matter."""
    return _fill("problem.html.j2", title=title, what=text, why=None, fix=None, code=None)


def refusal(error: WhichbitsError) -> str:
    """Return an error as a page."""
    return _fill(
        "problem.html.j2", title="This cannot be shown", what=error.what, why=error.why, fix=error.fix, code=error.code
    )


def report_style() -> str:
    """Return the reports' style, which these pages share."""
    return files("whichbits.report").joinpath("templates", "report.css").read_text(encoding="utf-8")


def cell_row(cell: Cell) -> dict[str, Any]:
    """Return a cell as the live table shows it."""
    spent = None if cell.started_ns is None or cell.finished_ns is None else (cell.finished_ns - cell.started_ns) / _NS
    return {
        "cell": cell.cell,
        "arm": cell.arm,
        "load": load_name(cell.concurrency, cell.request_rate),
        "repeat": cell.repeat + 1,
        "state": cell.state,
        "requests": cell.requests,
        "failed": cell.failed,
        "seconds": None if spent is None else round(spent, 1),
        "client": None if cell.client is None else cell.client.verdict,
    }


def _compared(row: Row) -> tuple[str, ...]:
    return (
        metric_name(row),
        load_text(row),
        number(row.baseline),
        number(row.candidate),
        change_text(row),
        interval_text(row),
        VERDICTS[row.verdict],
    )


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < _KIB:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _KIB
    return f"{size:.1f} GiB"


def _when(created: str) -> str:
    return created.replace("T", " ")[:16]


def _fill(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("whichbits.view"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"size": _size, "when": _when, "address": lambda text: quote(text, safe="")}
    environment.filters["path"] = quote
    return environment
