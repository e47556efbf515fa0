"""Arrow columns as numpy arrays, without what pyarrow loads for it: its own way asks for pandas wherever that is."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def floats(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> npt.NDArray[np.float64]:
    """Return numbers; null is NaN."""
    values: npt.NDArray[np.float64] = _viewed(column.cast(pa.float64()).fill_null(float("nan")), np.float64)
    return values


def integers(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> npt.NDArray[np.int64]:
    """Return whole numbers.

    Raises:
        ValueError: some are null.
    """
    values: npt.NDArray[np.int64] = _viewed(column.cast(pa.int64()), np.int64)
    return values


def booleans(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> npt.NDArray[np.bool_]:
    """Return truths.

    Raises:
        ValueError: some are null.
    """
    return _viewed(column.cast(pa.uint8()), np.uint8).view(np.bool_)


def _viewed(column: "pa.ChunkedArray[Any] | pa.Array[Any]", kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return the memory of a column of fixed width, which must not be written to."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} values are null")
    _, values = array.buffers()
    if values is None or not len(array):
        return np.empty(0, kind)
    width = np.dtype(kind).itemsize
    return np.frombuffer(values, kind, len(array), array.offset * width)
