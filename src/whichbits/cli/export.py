"""``whichbits export``: a run's results in another tool's format, or to a service."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from whichbits.cli.lang import Lang
from whichbits.errors import BadInput
from whichbits.language.language import language
from whichbits.language.recognition import tell
from whichbits.record.run import Run
from whichbits.report.destinations.destination import send_run
from whichbits.report.export import export_run


def export(
    folder: Path,
    *,
    format: Annotated[str | None, Parameter(name="--format")] = None,  # noqa: A002 - the flag's name
    into: Path | None = None,
    to: str | None = None,
    endpoint: str | None = None,
    project: str | None = None,
    lang: Lang = "en",
) -> int:
    """Write one file for each finished cell of a run (--format), or send the run to a service (--to).

    Args:
        folder: A run folder, as `whichbits run` makes them.
        format: vllm-bench or llm-d-report.
        into: Where the files go; default is a folder of the format's name inside the run.
        to: otlp, mlflow or wandb; each needs the extra of its name.
        endpoint: The service's address; by default what its own variables say.
        project: MLflow's experiment or W&B's project; by default the study's name.
        lang: Language of what is printed.
    """
    _insist_on_one(format, to)
    run = Run.load(folder)
    if to is not None:
        for line in send_run(run, to, endpoint, project):
            sys.stdout.write(f"{tell(line, language(lang))}\n")
    if format is not None:
        for path in export_run(run, format, into or folder / "exports" / format):
            sys.stdout.write(f"{path}\n")
    return 0


def _insist_on_one(form: str | None, to: str | None) -> None:
    if (form is None) == (to is None):
        raise BadInput(
            "export_undecided",
            "neither --format nor --to was given" if form is None else "--format and --to were both given",
            why="an export is either files in another tool's format or a message to a service",
            fix="give one: --format vllm-bench, or --to otlp --endpoint http://collector:4318",
        )
