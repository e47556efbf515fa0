"""From a run folder to everything that people see of it."""

import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from whichbits.analyze.latency.request_timelines import request_timelines
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.language.language import Code, Language, language
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.report.reporters import say_where, summary_json, write_reports
from whichbits.report.shown import shown_cells
from whichbits.report.terminal import print_summary

Show = Callable[[Summary, Manifest, Console, str, Language], None]
"""Prints what people see on a terminal: the run's folder and the language come last."""


def rebuild_reports(folder: Path, *, json_to_stdout: bool, show: Show = print_summary, lang: Code = "en") -> Summary:
    """Analyze the run in ``folder``, write its reports, and print the answer: for people, or as one JSON object.

    Files come first: who reads the first lines only, as ``| head`` does, has them all the same. The answer is printed
    even where they cannot be written.
    """
    run, spoken = Run.load(folder), language(lang)
    summary = summarize(run)
    console = Console(stderr=json_to_stdout)
    try:
        requests = request_timelines(run, shown_cells(summary))
        written = write_reports(summary, run.manifest, folder, spoken=spoken, requests=requests)
    finally:
        show(summary, run.manifest, console, str(folder), spoken)
        console.print()
    say_where(written, console, spoken)
    if json_to_stdout:
        sys.stdout.buffer.write(summary_json(summary, run.manifest)["summary.json"])
        sys.stdout.flush()
    return summary
