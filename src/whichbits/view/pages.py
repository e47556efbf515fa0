"""Pages as text: templates filled with what is known of runs."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from yarl import URL

from whichbits.analyze.comparison.comparison import Comparison, PairComparison, Row
from whichbits.analyze.summary.source import SOURCES
from whichbits.errors import WhichbitsError
from whichbits.language.language import Code, language
from whichbits.language.phrase import Phrase, phrase
from whichbits.language.recognition import recognise, tell
from whichbits.record.run import Run
from whichbits.record.schema import Cell
from whichbits.report.coded import coded
from whichbits.report.comparison.wording import (
    VERDICTS,
    change_text,
    fact_name,
    interval_text,
    load_text,
    method_text,
    metric_name,
    open_text,
    refusals,
    remarks,
    shown,
    title_of,
)
from whichbits.report.wording import number, plain
from whichbits.study.model import load_name
from whichbits.view.catalogue import Entry
from whichbits.view.files import RunFile
from whichbits.view.selection import COLUMNS, Selection

_NS = 1e9
_NAMES: dict[Code, str] = {"en": "English", "ko": "한국어"}
"""Each language by its own name."""
_KIB = 1024
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}T\d{4}")


PROGRESS = {
    "running": phrase("running"),
    "finished": phrase("finished"),
    "cut short": phrase("cut short"),
    "unreadable": phrase("unreadable"),
}
CELL_STATES = {
    "planned": phrase("planned"),
    "done": phrase("done"),
    "interrupted": phrase("interrupted"),
    "skipped": phrase("skipped"),
}
CLIENT = {"client_ok": phrase("ok"), "client_suspect": phrase("suspect"), "client_limited": phrase("limited")}


class Pages:
    """The pages in one language, whose links lead to pages in the same."""

    def __init__(self, address: URL, default: Code, lang: Code) -> None:
        """``address`` is that of the page; ``default`` is the language of addresses that name none."""
        self._address = address
        self._default = default
        self._spoken = language(lang)

    def runs(self, folder: Path, entries: Sequence[Entry], selection: Selection) -> str:
        """Return the list of runs."""
        return self._fill(
            "runs.html.j2",
            folder=folder,
            total=len(entries),
            entries=selection.choose(entries),
            selection=selection,
            columns=COLUMNS,
        )

    def run(self, entry: Entry, recorded: Run, held: Sequence[RunFile], others: Sequence[Entry]) -> str:
        """Return the page of one run."""
        rows = [cell_row(cell) for cell in recorded.cells]
        notes = [tell(note, self._spoken) for note in recorded.manifest.notes]
        words = {code: self._spoken.say(said) for code, said in (PROGRESS | CELL_STATES | CLIENT).items()}
        return self._fill("run.html.j2", entry=entry, notes=notes, rows=rows, files=held, others=others, words=words)

    def comparison(self, found: Comparison, entries: Sequence[Entry]) -> str:
        """Return the comparison of runs; the first is the baseline."""
        pairs = [self._pair(pair, found.margin) for pair in found.pairs]
        runs = [("run", entry.name) for entry in entries]
        turns = {entry.name: [*runs, ("baseline", entry.name), *self._asked().items()] for entry in entries}
        return self._fill("compare.html.j2", pairs=pairs, entries=entries, turns=turns)

    def problem(self, title: str, text: str) -> str:
        """Return a page that says what is the matter."""
        return self._fill("problem.html.j2", title=title, what=tell(text, self._spoken), why=None, fix=None, code=None)

    def refusal(self, error: WhichbitsError, fix: str | None = None) -> str:
        """Return an error as a page; ``fix`` is what to do here, where the error's own is for the command line."""
        what, why, fix = (tell(text, self._spoken) for text in (error.what, error.why, fix or error.fix))
        title = phrase("This cannot be shown")
        return self._fill("problem.html.j2", title=title, what=what, why=why, fix=fix, code=error.code)

    def _asked(self) -> dict[str, str]:
        return {"lang": self._spoken.code} if self._spoken.code != self._default else {}

    def _pair(self, pair: PairComparison, margin: float) -> dict[str, Any]:
        method = method_text(pair, margin)
        return {
            "pair": pair,
            "title": title_of(pair),
            "differences": {
                fact_name(name): [tell(value, self._spoken) for value in values]
                for name, values in pair.differences.items()
            },
            "rows": [(_compared(row), row.verdict.replace("_", "-")) for row in shown(pair)],
            "open": open_text(pair, margin),
            "method": method.titled() if isinstance(method, Phrase) else method,
            "refusals": {tell(reason, self._spoken): names for reason, names in refusals(pair).items()},
            "remarks": {tell(reason, self._spoken): names for reason, names in remarks(pair).items()},
        }

    def _fill(self, template: str, **values: Any) -> str:
        code = self._spoken.code
        others = [
            (name, other, str(self._address.update_query(lang=other)))
            for other, name in _NAMES.items()
            if other != code
        ]
        words = {"progress_words": PROGRESS, "source_words": SOURCES, "client_words": CLIENT}
        values = {"language": code, "languages": others, "asked": self._asked(), **words, **values}
        return plain(_environment(code).get_template(template).render(**values))


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


def _dated(name: str) -> tuple[str, str]:
    """Return the date that a run's name begins with, which must not be broken over lines, and the rest."""
    found = _DATED.match(name)
    return (found[0], name[found.end() :]) if found else ("", name)


def _when(created: str) -> str:
    return created.replace("T", " ")[:16]


def _linked(path: str, query: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    """Return an address with its query, if there is one."""
    return f"{path}?{urlencode(query)}" if query else path


@cache
def _environment(code: Code) -> Environment:
    """Return the templates; whatever they show is said in the language, and then escaped."""
    spoken = language(code)

    def say(template: str, **fields: object) -> Markup:
        return Markup(spoken.filled(template, fields, lambda text: str(escape(text))))  # noqa: S704 - escaped here

    environment = Environment(
        loader=PackageLoader("whichbits.view"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: spoken.say(value) if isinstance(value, Phrase) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"size": _size, "when": _when, "dated": _dated, "address": lambda text: quote(text, safe="")}
    environment.filters |= {"path": quote, "recognised": recognise, "coded": coded}
    environment.globals |= {"say": say, "link": _linked}
    return environment
