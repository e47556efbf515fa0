"""What ``whichbits load`` shows on a terminal: a row a load, whether the client kept up, and what to doubt."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.drive.reasons import known_again
from whichbits.language.language import Language
from whichbits.language.phrase import phrase
from whichbits.record.schema import Cell, Manifest
from whichbits.report.answer.important import in_short, most_important
from whichbits.report.fitted import Fitted
from whichbits.report.wording import VERDICTS, load_text, number, plain

_LEGEND = phrase("Times in ms; TTFT from the scheduled send. ITL: gaps between chunks.")
_MOST_FINDINGS = 5
_FINDING_LENGTH = 142
_COLUMNS = (
    (phrase("load"), "", "left"),
    (phrase("req"), "", "right"),
    (phrase("fail"), "", "right"),
    ("TTFT", "p50", "right"),
    ("", "p99", "right"),
    ("TPOT", "p50", "right"),
    ("ITL", "p50", "right"),
    ("", "p99", "right"),
    (phrase("out"), "tok/s", "right"),
    (phrase("got"), "req/s", "right"),
    (phrase("client"), "", "left"),
)
_PLAN = (phrase("plan"), "req/s", "right")
"""Arrivals are drawn: how many a second the plan has, which the load's rate is only on average."""


def print_load(summary: Summary, manifest: Manifest, console: Console, folder: str, spoken: Language) -> None:
    """Print the table of loads; the whole report is in the folder's files."""
    del folder
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    rated = any(cell.arrival_rates is not None for cell in summary.cells)
    for heading, below, side in (*_COLUMNS[:-2], *((_PLAN,) if rated else ()), *_COLUMNS[-2:]):
        table.add_column(
            f"{spoken.say(heading)}\n{below}", justify="right" if side == "right" else "left", no_wrap=True
        )
    for cell in summary.cells:
        table.add_row(*(Text(plain(spoken.say(part))) for part in _row(cell, rated=rated)))
    console.print(Text(plain(spoken.say(_title(manifest)))), highlight=False)
    console.print(Fitted(table))
    console.print(Text(spoken.say(_LEGEND), style="dim"))
    for recorded in manifest.cells:
        _print_client(recorded, console, spoken)
    for finding, more in most_important(summary.findings, _MOST_FINDINGS):
        if not finding.code.startswith("client_"):
            also = spoken.say(phrase(" ({more} more like it)", more=more)) if more else ""
            short = in_short(plain(spoken.say(finding.text)), _FINDING_LENGTH)
            console.print(Text(f"- {short}{also}  [{finding.code}]"), highlight=False)


def _title(manifest: Manifest) -> str:
    urls = ", ".join(replica.url for arm in manifest.arms.values() for replica in arm.replicas)
    asked = manifest.study.get("arms", {}).values()
    models = {str(arm.get("served_model_name") or arm.get("model") or phrase("a model")) for arm in asked}
    where = urls or phrase("a server that did not come")
    return phrase("{models} at {where}", models=", ".join(sorted(models)), where=where)


def _row(cell: CellSummary, *, rated: bool) -> tuple[str, ...]:
    planned = number(None if cell.arrival_rates is None else cell.arrival_rates.planned)
    return (
        load_text(cell),
        str(cell.requests),
        str(cell.failed),
        number(cell.ttft_ms.p50),
        number(cell.ttft_ms.p99),
        number(cell.tpot_ms.p50),
        number(cell.itl_ms.p50),
        number(cell.itl_ms.p99),
        number(cell.output_tokens_per_s),
        *((planned,) if rated else ()),
        number(cell.requests_per_s),
        VERDICTS.get(cell.client_verdict, cell.client_verdict or ""),
    )


def _print_client(cell: Cell, console: Console, spoken: Language) -> None:
    """Say why the client may have been the limit."""
    for reason in () if cell.client is None or cell.client.verdict == "client_ok" else cell.client.reasons:
        told = phrase("client at {load}: {reason}", load=load_text(cell), reason=known_again(reason))
        console.print(Text(f"- {plain(spoken.say(told))}", style="yellow"), highlight=False)
