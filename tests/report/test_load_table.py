"""The table of ``whichbits load``: every number is the summary's, and a client that was late says why."""

import io
from dataclasses import replace

from rich.console import Console

from tests.report.make_summary import make_manifest, make_summary
from whichbits.analyze.load.sending import ArrivalRates
from whichbits.analyze.summary import Summary
from whichbits.language.language import ENGLISH
from whichbits.record.schema import ClientHealth, Manifest
from whichbits.report.load_table import print_load
from whichbits.report.wording import number

ARM = ("w4a16",)
LATE = ClientHealth("client_limited", ("event loop: too late",), 1.0, 9.0, 0.9, 0.2)


def page(summary: Summary, manifest: Manifest) -> str:
    shown = io.StringIO()
    print_load(summary, manifest, Console(file=shown, width=100, no_color=True), "a folder", ENGLISH)
    return shown.getvalue()


def test_a_row_a_load_with_the_summarys_numbers() -> None:
    summary = make_summary(failed=None, arms=ARM)
    rows = [line.split() for line in page(summary, make_manifest(ARM)).splitlines() if line.startswith("c")]

    assert len(rows) == len(summary.cells) == 4
    for row, cell in zip(rows, summary.cells, strict=True):
        latencies = (cell.ttft_ms.p50, cell.ttft_ms.p99, cell.tpot_ms.p50, cell.itl_ms.p50, cell.itl_ms.p99)
        rates = (cell.output_tokens_per_s, cell.requests_per_s)
        assert row[:3] == [f"c{cell.concurrency}", str(cell.requests), "0"]
        assert row[3:10] == [number(value) for value in (*latencies, *rates)]


def test_open_loops_show_the_plan_s_own_rate_beside_what_was_got() -> None:
    summary = make_summary(failed=None, arms=ARM)
    rates = ArrivalRates(4.0, 5.06, 5.06, None, None, None)
    rated = replace(summary, cells=tuple(replace(cell, arrival_rates=rates) for cell in summary.cells))

    assert "plan" not in page(summary, make_manifest(ARM))
    shown = page(rated, make_manifest(ARM))
    rows = [line.split() for line in shown.splitlines() if line.startswith("c")]
    assert [row[9] for row in rows] == ["5.06"] * len(rows)
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("-"))


def test_a_client_that_was_the_limit_says_why_and_at_which_load() -> None:
    manifest = make_manifest(ARM)
    first, *others = manifest.cells
    late = replace(manifest, cells=(replace(first, client=LATE), *others))

    said = page(make_summary(failed=None, arms=ARM), late)

    assert f"- client at c{first.concurrency}: event loop: too late" in said
    assert "too late" not in page(make_summary(failed=None, arms=ARM), manifest)
