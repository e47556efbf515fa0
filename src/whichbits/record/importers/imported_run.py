"""Other tools' results as an ordinary run, so that all that reads runs reads them, too."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from whichbits.errors import BadInput
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.schema import SCHEMA_VERSION, ArmRecord, Cell, Fact, Manifest
from whichbits.record.writer import RunWriter

UNKNOWN = "unknown"

LATEST_NS = 2**53
"""Up to here (104 days) analysis holds times exactly."""


def write_imported_run(parent: Path, name: str, arms: Mapping[str, Sequence[ImportedCell]]) -> Path:
    """Write a run of these arms into a fresh folder of ``parent``; cells of one arm and load become its repeats."""
    numbered = _numbered(arms)
    writer = RunWriter.create(parent, _manifest(name, [cell for cell, _ in numbered]))
    for arm, told in arms.items():
        writer.arm(_arm(arm, told))
    for cell, imported in numbered:
        if imported.records:
            _keep(writer, cell, imported)
    return writer.finish()


def _keep(writer: RunWriter, cell: Cell, imported: ImportedCell) -> None:
    latest = max(max(record.scheduled_ns, record.finished_ns or 0, *record.chunk_ns) for record in imported.records)
    if latest > LATEST_NS:
        raise _unusable(imported, f"{latest / 1e9:.0f} s after the first send")
    try:
        writer.cell(cell, imported.records)
    except (pa.ArrowException, OverflowError) as error:
        raise _unusable(imported, str(error)) from error


def _unusable(imported: ImportedCell, what: str) -> BadInput:
    return BadInput(
        "result_unusable",
        f"a request of {imported.imported.tool} has a number that no run can hold: {what}",
        why="a time or a token count in the file is far too large",
        fix="look for what the tool wrote where it could not measure, or leave the requests out of the file",
    )


def _numbered(arms: Mapping[str, Sequence[ImportedCell]]) -> list[tuple[Cell, ImportedCell]]:
    repeats: Counter[tuple[str, int | None, float | None]] = Counter()
    numbered: list[tuple[Cell, ImportedCell]] = []
    for arm, told in arms.items():
        for imported in told:
            place = (arm, imported.concurrency, imported.request_rate)
            numbered.append((imported.cell(len(numbered), arm, repeats[place]), imported))
            repeats[place] += 1
    return numbered


def _manifest(name: str, cells: list[Cell]) -> Manifest:
    return Manifest(
        schema_version=SCHEMA_VERSION,
        source="imported",
        name=name,
        study={},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        origin_unix_ns=0,
        host={},
        tools={"whichbits": version("whichbits")} | {cell.imported.tool: UNKNOWN for cell in cells if cell.imported},
        cells=tuple(cells),
    )


def _arm(arm: str, told: Sequence[ImportedCell]) -> ArmRecord:
    facts: dict[str, Fact] = {}
    for imported in told:
        for name, value in imported.facts.items():
            facts.setdefault(name, Fact(value, imported.imported.tool))
    return ArmRecord(arm, UNKNOWN, UNKNOWN, facts, ())
