"""``whichbits export``: a run's results in another tool's format."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from whichbits.record.run import Run
from whichbits.report.export import export_run


def export(
    folder: Path,
    *,
    format: Annotated[str, Parameter(name="--format")],  # noqa: A002 - the flag's name
    into: Path | None = None,
) -> int:
    """Write one file for each finished cell of a run.

    Args:
        folder: A run folder, as `whichbits run` makes them.
        format: vllm-bench or llm-d-report.
        into: Where the files go; default is a folder of the format's name inside the run.
    """
    for path in export_run(Run.load(folder), format, into or folder / "exports" / format):
        sys.stdout.write(f"{path}\n")
    return 0
