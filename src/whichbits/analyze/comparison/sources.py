"""What can be compared: run folders, summary.json files, and other tools' results, each as its arms."""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pyarrow as pa

from whichbits.analyze.comparison.sides import Side
from whichbits.analyze.summarize import examine, slo_of
from whichbits.analyze.summary import ArmSummary, CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.imported_run import UNKNOWN, write_imported_run
from whichbits.record.importers.tools import read_results
from whichbits.record.manifest import FILE_NAME
from whichbits.record.run import Run
from whichbits.record.schema import Cell, Manifest

_SUMMARY_KEYS = (b'"schema_version"', b'"crossovers"', b'"load_unit"')
_RESULT_ENDINGS = (".json", ".jsonl", ".yaml", ".yml", ".csv")


@dataclass(frozen=True)
class Source:
    """One argument of ``whichbits compare``: its name, and the arms found there."""

    name: str
    sides: tuple[Side, ...]


def read_source(argument: str) -> Source:
    """Read ``PATH`` or ``NAME=PATH``; a folder may be a run, or hold result files of other tools.

    Raises:
        BadInput: what stands there cannot be read or compared.
    """
    name, path = named_path(argument)
    if (path / FILE_NAME).is_file():
        return Source(name or path.name, _of_run(Run.load(path), {}))
    if path.is_file() and (summary := _summary(path)) is not None:
        return Source(name or _stem(path), _of_summary(summary))
    return Source(name or _stem(path), _of_results(path))


def named_path(argument: str) -> tuple[str | None, Path]:
    """Split ``NAME=PATH``; what exists as a path as a whole has no name."""
    name, sign, path = argument.partition("=")
    return (name, Path(path)) if sign and name and not Path(argument).exists() else (None, Path(argument))


def result_cells(path: Path) -> list[ImportedCell]:
    """Return the cells of a result file, or of every result file in a folder; where no arm is told, that names it.

    Raises:
        BadInput: a file is no result, or the folder holds none.
    """
    files = _result_files(path) if path.is_dir() else [path]
    arm = path.name if path.is_dir() else path.stem
    return [replace(cell, arm=cell.arm or arm) for file in files for cell in read_results(file)]


def _result_files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.suffix in _RESULT_ENDINGS and file.is_file())
    if not files:
        raise BadInput(
            "no_results",
            f"{folder} is no run and holds no result file",
            why=f"a run has a {FILE_NAME}; result files end in {', '.join(_RESULT_ENDINGS)}",
            fix="give a run folder, a result file, or a folder of result files",
        )
    return files


def by_arm(cells: Sequence[ImportedCell], arm: str | None = None) -> dict[str, list[ImportedCell]]:
    """Return cells by the arm that their file names, or all under one name."""
    found: dict[str, list[ImportedCell]] = {}
    for cell in cells:
        found.setdefault(arm or cell.arm or UNKNOWN, []).append(cell)
    return found


def _of_results(path: Path) -> tuple[Side, ...]:
    arms = by_arm(result_cells(path))
    facts = {arm: dict(cells[0].facts) | {"tool": cells[0].imported.tool} for arm, cells in arms.items()}
    with tempfile.TemporaryDirectory(prefix="whichbits-") as folder:
        return _of_run(Run.load(write_imported_run(Path(folder), "imported", arms)), facts)


def _of_run(run: Run, more: dict[str, dict[str, str]]) -> tuple[Side, ...]:
    bounds, examined = slo_of(run), examine(run)
    summary = examined.summary
    prompts = {cell.cell: sent for cell in run.cells if (sent := _prompts(cell, run.of_cell(cell.cell)))}
    digests = {cell.cell: digest for cell in run.cells if (digest := _digest(run.of_cell(cell.cell))) is not None}
    told = {"source": run.manifest.source} | _hardware(run.manifest)
    return tuple(
        Side(
            name=name,
            cells=_cells(summary, name),
            facts=told | _facts(summary.arms.get(name)) | more.get(name, {}),
            resampled=examined.resampled,
            prompts=prompts,
            requests=digests,
            slo=None if bounds is None else bounds.model_dump_json(),
            predicted=run.manifest.source == "predicted",
        )
        for name in dict.fromkeys(cell.arm for cell in summary.cells)
    )


def _of_summary(summary: Summary) -> tuple[Side, ...]:
    names = dict.fromkeys(cell.arm for cell in summary.cells)
    told = {"source": summary.source}
    # A summary keeps no requests: what was measured of them to the last digit is as good.
    digests = {cell.cell: hashlib.sha256(msgspec.json.encode(cell)).hexdigest() for cell in summary.cells}
    return tuple(
        Side(
            name=name,
            cells=_cells(summary, name),
            facts=told | _facts(summary.arms.get(name)),
            requests=digests,
            slo="not told",
        )
        for name in names
    )


def _cells(summary: Summary, arm: str) -> tuple[CellSummary, ...]:
    return tuple(cell for cell in summary.cells if cell.arm == arm)


def _prompts(cell: Cell, requests: pa.Table) -> tuple[int, ...]:
    """Return prompt lengths in the order of requests; nothing unless all are known."""
    lengths: list[int | None] = requests.sort_by("index")["prompt_tokens"].to_pylist()
    known = tuple(length for length in lengths if length is not None)
    return known if cell.state == "done" and len(known) == len(lengths) else ()


def _digest(requests: pa.Table) -> str | None:
    """Return what only the same requests have; None where none are kept."""
    if not requests.num_rows:
        return None
    # Numbered anew, a cell of another run may be the same; rows lie together, so that equal ones have equal bytes.
    batches = requests.drop_columns(["cell"]).sort_by("index").combine_chunks().to_batches()
    digest = hashlib.sha256()
    for batch in batches:
        digest.update(batch.serialize())
    return digest.hexdigest()


def _facts(arm: ArmSummary | None) -> dict[str, str]:
    if arm is None:
        return {}
    told = {
        "model": arm.model,
        "weight format": arm.weight_format,
        "kernel": arm.kernel,
        "engine": arm.engine,
        "engine version": arm.engine_version,
        "hardware": arm.facts.get("hardware"),
    }
    return {name: str(value) for name, value in told.items() if value not in (None, UNKNOWN)}


def _hardware(manifest: Manifest) -> dict[str, str]:
    gpus = manifest.host.get("gpus")
    names = [str(gpu.get("name", gpu)) if isinstance(gpu, dict) else str(gpu) for gpu in gpus or ()]
    told = ", ".join(f"{count} x {name}" for name, count in Counter(names).items()) or manifest.host.get("cpu")
    return {"hardware": str(told)} if told else {}


def _summary(path: Path) -> Summary | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None  # the importers say why it cannot be read
    if not all(key in content for key in _SUMMARY_KEYS):
        return None
    try:
        return msgspec.json.decode(content, type=Summary)
    except msgspec.MsgspecError as error:
        raise BadInput(
            "summary_broken",
            f"{path} looks like a summary.json but cannot be read: {error}",
            why="it was cut off or edited, or another release of whichbits wrote it",
            fix="rebuild it with `whichbits report` and the run's folder, or compare the run folder itself",
        ) from error


def _stem(path: Path) -> str:
    return path.parent.name if path.name == "summary.json" and path.parent.name else path.stem
