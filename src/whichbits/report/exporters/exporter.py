"""What an exporter is, and the formats that there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

import pyarrow as pa

from whichbits.analyze.summary import ArmSummary, CellSummary
from whichbits.errors import BadInput
from whichbits.record.schema import Cell, Manifest


@dataclass(frozen=True)
class Exported:
    """One cell with all that a format may ask for."""

    manifest: Manifest
    arm: ArmSummary | None
    cell: Cell
    summary: CellSummary
    requests: pa.Table

    @property
    def stem(self) -> str:
        """Name of the cell's file, without its ending."""
        limits = (("rate", self.cell.request_rate), ("c", self.cell.concurrency))
        load = "-".join(f"{name}{value:g}" for name, value in limits if value is not None) or "unlimited"
        arm = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in self.cell.arm)
        return f"{self.cell.cell:04d}-{arm}-{load}-r{self.cell.repeat}"


class Exporter(Protocol):
    """Turns one cell into one file: its ending, and what stands in it."""

    def __call__(self, exported: Exported) -> tuple[str, bytes]:
        """Return the ending and the content."""


EXPORTERS: Mapping[str, str] = {
    "vllm-bench": "whichbits.report.exporters.vllm_bench:vllm_bench",
    "llm-d-report": "whichbits.report.exporters.llmd_report:llmd_report",
}
"""By name; loaded when asked for."""


def exporter(name: str) -> Exporter:
    """Return the exporter of that name.

    Raises:
        BadInput: ``export_format_unknown``.
    """
    if name not in EXPORTERS:
        raise BadInput(
            "export_format_unknown",
            f"there is no format {name!r}",
            why="the name is misspelt, or nobody has written that exporter yet",
            fix=f"use one of: {', '.join(EXPORTERS)}",
        )
    module, _, function = EXPORTERS[name].partition(":")
    return cast("Exporter", getattr(import_module(module), function))
