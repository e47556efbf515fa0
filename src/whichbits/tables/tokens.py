"""The chunks of a run in a long table: one row a content chunk, with the gap before it."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_REQUEST = ("cell", "arm", "concurrency", "request_rate", "repeat", "index")
_MS = 1e6


def token_table(requests: pa.Table) -> pa.Table:
    """Return a row for each chunk of each request, in their order.

    Beside what names the request: ``chunk`` (0 is the first), ``time_ns``, ``tokens``, and ``gap_ms`` since the chunk
    before, null for the first. Pooled over the good requests of a cell, the gaps are its ITL.
    """
    requests = requests.combine_chunks()
    times, owner = pc.list_flatten(requests["chunk_ns"]), _owners(requests["chunk_ns"])
    first = np.concatenate([[True], owner[1:] != owner[:-1]])[: len(owner)]
    whose = requests.select(_REQUEST).take(pa.array(owner))
    columns: dict[str, Any] = {
        "chunk": pa.array(_position(first), pa.int32()),
        "time_ns": times,
        "tokens": pc.list_flatten(requests["chunk_tokens"]),
        "gap_ms": _gaps(times, first),
        "succeeded": pc.is_null(requests["error_code"]).take(pa.array(owner)),
    }
    for name, column in columns.items():
        whose = whose.append_column(name, column)
    return whose


def _owners(lists: "pa.ChunkedArray[Any]") -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the row of each list's elements."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    return np.repeat(np.arange(len(lengths)), lengths)


def _position(first: "np.ndarray[Any, np.dtype[np.bool_]]") -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return each chunk's number in its request."""
    places = np.arange(len(first))
    return places - np.maximum.accumulate(np.where(first, places, 0))


def _gaps(
    times: "pa.Array[Any] | pa.ChunkedArray[Any]", first: "np.ndarray[Any, np.dtype[np.bool_]]"
) -> "pa.Array[Any]":
    arrived = np.asarray(times, dtype=np.int64)
    return pa.array(np.diff(arrived, prepend=arrived[:1]) / _MS, mask=first)
