"""``whichbits report``: rebuild a run's report from what it recorded."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from whichbits.cli.lang import Lang
from whichbits.report.rebuild import rebuild_reports


def report(folder: Path, *, json: Annotated[bool, Parameter(negative=())] = False, lang: Lang = "en") -> int:
    """Rebuild summary.json, report.md and report.html of a run folder.

    Args:
        folder: A run folder, as `whichbits run` makes them.
        json: Print summary.json on stdout, everything else on stderr.
        lang: Language of the reports and of what is printed; summary.json stays English.
    """
    rebuild_reports(folder, json_to_stdout=json, lang=lang)
    return 0
