"""One table of a run, in the library that the reader likes."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whichbits.errors import BadInput
from whichbits.tables.appearance import table_html, table_line

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True)
class Table:
    """Rows and columns held as Arrow; whatever reads the Arrow PyCapsule interface takes the object as it is.

    ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and DuckDB's ``FROM table`` all do. Source:
    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    """

    rows: pa.Table

    def __repr__(self) -> str:
        """Return its size and columns."""
        return table_line(self.rows)

    def _repr_html_(self) -> str:
        """Show a notebook its first rows."""
        return table_html(self.rows)

    def arrow(self) -> pa.Table:
        """Return the table as it is held."""
        return self.rows

    def polars(self) -> "pl.DataFrame":
        """Return a polars frame.

        Raises:
            BadInput: ``table_library_missing``.
        """
        frame: pl.DataFrame = _library("polars").from_arrow(self.rows)
        return frame

    def pandas(self) -> "pd.DataFrame":
        """Return a pandas frame; columns that hold nulls become floats, as pandas does.

        Raises:
            BadInput: ``table_library_missing``.
        """
        _library("pandas")
        frame: pd.DataFrame = self.rows.to_pandas()
        return frame

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.rows.num_rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the rows to another library without a copy."""
        stream: object = self.rows.__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return stream


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise BadInput(
            "table_library_missing",
            f"{name} is not installed",
            why="whichbits holds tables as Arrow, and leaves other libraries to those who want them",
            fix=f"pip install 'whichbits[{name}]', or use .arrow()",
        ) from error
