"""What an importer is: a tool's name, a recogniser, and a reader."""

from collections.abc import Callable
from dataclasses import dataclass

from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.result_file import ResultFile


@dataclass(frozen=True)
class Importer:
    """``read`` is only called for files that ``recognises`` accepts; it returns a cell for each load in the file."""

    tool: str
    recognises: Callable[[ResultFile], bool]
    read: Callable[[ResultFile], list[ImportedCell]]
