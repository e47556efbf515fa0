"""Arrow columns as numpy arrays, without what pyarrow's own way loads for it: pandas, wherever that is installed."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichbits.language.amounts import amount


def floats(column: "pa.ChunkedArray[Any]") -> npt.NDArray[np.float64]:
    """Return numbers; null is NaN."""
    array = _in_one(column.cast(pa.float64()))
    values = _memory(array, np.float64)
    return np.where(booleans(pc.is_null(array)), np.nan, values) if array.null_count else values


def integers(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> npt.NDArray[np.int64]:
    """Return whole numbers.

    Raises:
        ValueError: some are null.
    """
    return _memory(_without_nulls(column.cast(pa.int64())), np.int64)


def booleans(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> npt.NDArray[np.bool_]:
    """Return truths.

    Raises:
        ValueError: some are null.
    """
    return _memory(_without_nulls(column.cast(pa.uint8())), np.uint8).view(np.bool_)


def _without_nulls(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> "pa.Array[Any]":
    array = _in_one(column)
    if array.null_count:
        raise ValueError(f"null: {array.null_count} of {amount(len(array), 'value')}")
    return array


def _in_one(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> "pa.Array[Any]":
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _memory(array: "pa.Array[Any]", kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return the memory of values of fixed width, which must not be written to; that of nulls means nothing."""
    _, values = array.buffers()
    if values is None or not len(array):
        return np.empty(0, kind)
    return np.frombuffer(memoryview(values), np.dtype(kind), len(array), array.offset * np.dtype(kind).itemsize)
