"""From a run folder to everything that people see of it."""

import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.report.reporters import summary_json, write_reports
from whichbits.report.terminal import print_summary

Show = Callable[[Summary, Manifest, Console, str], None]
"""Prints what people see on a terminal; the last is the run's folder."""


def rebuild_reports(folder: Path, *, json_to_stdout: bool, show: Show = print_summary) -> Summary:
    """Analyze the run in ``folder``, write its reports, and print the answer: for people, or as one JSON object."""
    run = Run.load(folder)
    summary = summarize(run)
    console = Console(stderr=json_to_stdout)
    show(summary, run.manifest, console, str(folder))
    console.print()
    write_reports(summary, run.manifest, folder, console)
    if json_to_stdout:
        sys.stdout.buffer.write(summary_json(summary, run.manifest)["summary.json"])
        sys.stdout.flush()
    return summary
