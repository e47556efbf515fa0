"""A run for scripts and notebooks: its summary, and its tables when they are asked for."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from whichbits.analyze.summarize import summarize, summary_json
from whichbits.errors import BadInput
from whichbits.record.manifest import FILE_NAME
from whichbits.record.regular import insist_on_file
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.record.scrapes import Phase
from whichbits.tables.appearance import run_html, run_lines
from whichbits.tables.flat import arm_table, cell_table
from whichbits.tables.table import Table
from whichbits.tables.tokens import token_table

SUMMARY = "summary.json"
TABLES = ("arms", "cells", "requests", "tokens", "telemetry", "scrapes")

_SCRAPE: "list[pa.Field[Any]]" = [
    pa.field("arm", pa.string(), nullable=False),
    pa.field("replica", pa.string(), nullable=False),
    pa.field("cell", pa.int32()),
    pa.field("phase", pa.string(), nullable=False),
    pa.field("time_ns", pa.int64(), nullable=False),
    pa.field("text", pa.string(), nullable=False),
]


@dataclass(frozen=True)
class LoadedRun:
    """A run folder, measured, predicted or imported; nothing here writes. Times are ns, or ms where a name says so."""

    run: Run

    def __repr__(self) -> str:
        """Return what it is, how far it came and its answer, in a few lines."""
        return "\n".join(run_lines(str(self.folder), self.manifest, self.summary))

    def _repr_html_(self) -> str:
        """Show a notebook the same."""
        return run_html(list(run_lines(str(self.folder), self.manifest, self.summary)))

    def table(self, name: str) -> Table:
        """Return a table by its name: ``arms``, ``cells``, ``requests``, ``tokens``, ``telemetry`` or ``scrapes``.

        Raises:
            BadInput: ``table_unknown``.
        """
        if name not in TABLES:
            raise BadInput(
                "table_unknown",
                f"a run has no table {name!r}",
                why="the name is misspelt",
                fix=f"use one of {', '.join(TABLES)}",
            )
        found: Table = getattr(self, name)()
        return found

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.run.folder

    @property
    def manifest(self) -> Manifest:
        """What run.json says: the study as resolved, the host, versions, replicas, the state of each cell."""
        return self.run.manifest

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json as it is, or made anew where there is none or run.json is newer.

        Raises:
            BadInput: ``run_broken``.
        """
        kept = self._kept()
        found: dict[str, Any] = kept or json.loads(summary_json(summarize(self.run)))
        return found

    def arms(self) -> Table:
        """Return a row for each arm."""
        return Table(arm_table(self.summary))

    def cells(self) -> Table:
        """Return a row for each cell: what was asked, and every number of its summary with its interval."""
        return Table(cell_table(self.summary))

    def requests(self) -> Table:
        """Return requests.parquet: a row for each request, failed ones too."""
        return Table(self.run.requests)

    def tokens(self) -> Table:
        """Return a row for each content chunk: ``chunk``, ``time_ns``, ``tokens``, ``gap_ms``."""
        return Table(token_table(self.run.requests))

    def telemetry(self) -> Table:
        """Return the samples of the GPUs; no rows where none were taken."""
        return Table(self.run.telemetry)

    def scrapes(self, *phases: Phase) -> Table:
        """Return the raw /metrics texts of ``phases``, or all: those ``during`` cells may be hundreds of MB."""
        found = self.run.each_scrape(*phases)
        rows = [{field.name: getattr(scrape, field.name) for field in _SCRAPE} for scrape in found]
        return Table(pa.Table.from_pylist(rows, schema=pa.schema(_SCRAPE)))

    def _kept(self) -> dict[str, Any] | None:
        """Return summary.json, unless the run went on since it was written, or it cannot be read."""
        path = self.folder / SUMMARY
        try:
            if path.stat().st_mtime_ns < (self.folder / FILE_NAME).stat().st_mtime_ns:
                return None
            insist_on_file(path)
            kept = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return kept if isinstance(kept, dict) and {"cells", "arms"} <= kept.keys() else None


def load_run(path: str | Path) -> LoadedRun:
    """Open a run folder.

    Raises:
        BadInput: ``run_not_found``, ``unreadable_file``, ``run_broken`` or ``run_too_new``.
    """
    try:
        folder = Path(path)
    except TypeError as error:
        raise BadInput(
            "run_not_found",
            f"{path!r} is not the path of a run",
            why="a run is opened by the path of its folder",
            fix="give the path as text, such as runs/2026-11-29T1404-quickstart",
        ) from error
    return LoadedRun(Run.load(folder))
