"""What ``whichbits load`` shows on a terminal: a row a load, whether the client kept up, and what to doubt."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.language import Language
from whichbits.record.schema import Cell, Manifest
from whichbits.report.answer.important import in_short, most_important
from whichbits.report.wording import VERDICTS, failures, load_text, number, plain

_MOST_FINDINGS = 5
_FINDING_LENGTH = 142
_COLUMNS = (
    ("load", "", "left"),
    ("req", "", "right"),
    ("fail", "", "right"),
    ("TTFT", "p50", "right"),
    ("", "p99", "right"),
    ("TPOT", "p50", "right"),
    ("ITL", "p50", "right"),
    ("", "p99", "right"),
    ("out", "tok/s", "right"),
    ("got", "req/s", "right"),
    ("client", "", "left"),
)
_PLAN = ("plan", "req/s", "right")
"""Arrivals are drawn: how many a second the plan has, which the load's rate is only on average."""


def print_load(summary: Summary, manifest: Manifest, console: Console, folder: str, spoken: Language) -> None:
    """Print the table of loads, in English; the whole report is in the folder's files."""
    del folder, spoken
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    rated = any(cell.arrival_rates is not None for cell in summary.cells)
    for heading, below, side in (*_COLUMNS[:-2], *((_PLAN,) if rated else ()), *_COLUMNS[-2:]):
        table.add_column(f"{heading}\n{below}", justify="right" if side == "right" else "left", no_wrap=True)
    for cell in summary.cells:
        table.add_row(*(Text(plain(part)) for part in _row(cell, rated=rated)))
    console.print(Text(_title(manifest)), highlight=False)
    console.print(table)
    console.print(Text("Times in ms; TTFT from the scheduled send. ITL: gaps between chunks.", style="dim"))
    for recorded in manifest.cells:
        _print_client(recorded, console)
    for finding, more in most_important(summary.findings, _MOST_FINDINGS):
        if not finding.code.startswith("client_"):
            also = f" ({more} more like it)" if more else ""
            console.print(
                Text(f"- {in_short(plain(finding.text), _FINDING_LENGTH)}{also}  [{finding.code}]"), highlight=False
            )


def _title(manifest: Manifest) -> str:
    urls = ", ".join(replica.url for arm in manifest.arms.values() for replica in arm.replicas)
    asked = manifest.study.get("arms", {}).values()
    models = {str(arm.get("served_model_name") or arm.get("model") or "a model") for arm in asked}
    return plain(f"{', '.join(sorted(models))} at {urls or 'a server that did not come'}")


def _row(cell: CellSummary, *, rated: bool) -> tuple[str, ...]:
    planned = number(None if cell.arrival_rates is None else cell.arrival_rates.planned)
    return (
        load_text(cell),
        str(cell.requests),
        str(failures(cell)),
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


def _print_client(cell: Cell, console: Console) -> None:
    """Say why the client may have been the limit."""
    for reason in () if cell.client is None or cell.client.verdict == "client_ok" else cell.client.reasons:
        load = load_text(cell)
        console.print(Text(f"- client at {load}: {plain(reason)}", style="yellow"), highlight=False)
