"""From a run folder to files in another tool's format."""

from collections.abc import Iterator
from pathlib import Path

from whichbits.analyze.summarize import summarize
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.report.exporters.exporter import Exported, exporter


def export_run(run: Run, name: str, folder: Path) -> list[Path]:
    """Write a file for each finished cell that has requests, and return their paths.

    Raises:
        BadInput: ``export_format_unknown``, ``nothing_to_export`` or ``output_unwritable``.
    """
    write = exporter(name)
    files = {f"{cell.stem}{ending}": content for cell in _cells(run) for ending, content in (write(cell),)}
    if not files:
        raise BadInput(
            "nothing_to_export",
            f"{run.folder} has no finished cell with requests",
            why="the run was stopped early, or holds another tool's statistics without requests",
            fix="export a run that was measured",
        )
    return [_written(folder / file, content) for file, content in files.items()]


def _cells(run: Run) -> Iterator[Exported]:
    summary = summarize(run)
    told = {cell.cell: cell for cell in summary.cells}
    for cell in run.cells:
        requests = run.of_cell(cell.cell).sort_by("index")
        if cell.state == "done" and requests.num_rows:
            yield Exported(run.manifest, summary.arms.get(cell.arm), cell, told[cell.cell], requests)


def _written(path: Path, content: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise BadInput(
            "output_unwritable",
            f"cannot write {path}: {error.strerror}",
            why="the folder does not exist, is read-only or full",
            fix="name a file in a folder you can write to",
        ) from error
    return path
