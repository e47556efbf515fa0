"""The columns of requests.parquet, and the way from request records to them and back.

A row is a request: the key of its cell, then each field of ``RequestRecord`` by its name. Null is missing.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa

from whichbits.record.schema import SCHEMA_VERSION, Cell, RequestRecord

VERSION_KEY = b"whichbits.schema_version"
CELL_COLUMNS = ("cell", "arm", "concurrency", "request_rate", "repeat")
RECORD_COLUMNS = tuple(field.name for field in fields(RequestRecord) if field.name != "text")

_NAME = pa.dictionary(pa.int32(), pa.string())

SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("cell", pa.int32(), nullable=False),
        pa.field("arm", _NAME, nullable=False),
        pa.field("concurrency", pa.int32()),
        pa.field("request_rate", pa.float64()),
        pa.field("repeat", pa.int32(), nullable=False),
        pa.field("index", pa.int32(), nullable=False),
        pa.field("replica", _NAME),
        pa.field("requested_output_tokens", pa.int32(), nullable=False),
        pa.field("prompt_tokens", pa.int32()),
        pa.field("cached_tokens", pa.int32()),
        pa.field("output_tokens", pa.int32()),
        pa.field("scheduled_ns", pa.int64(), nullable=False),
        pa.field("sent_ns", pa.int64()),
        pa.field("first_byte_ns", pa.int64()),
        pa.field("finished_ns", pa.int64()),
        pa.field("chunk_ns", pa.list_(pa.int64()), nullable=False),
        # int32: an answer that is not streamed is one chunk of any length. On disk it packs like int16.
        pa.field("chunk_tokens", pa.list_(pa.int32()), nullable=False),
        pa.field("finish_reason", _NAME),
        pa.field("done_seen", pa.bool_(), nullable=False),
        pa.field("http_status", pa.int16()),
        pa.field("error_code", _NAME),
        pa.field("error", pa.string()),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
)


def table_of(cell: Cell, records: Sequence[RequestRecord]) -> pa.Table:
    """Return the records of one cell as rows."""
    columns = [_column(name, [getattr(cell, name)] * len(records)) for name in CELL_COLUMNS]
    columns += [_column(name, [getattr(record, name) for record in records]) for name in RECORD_COLUMNS]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def records_of(table: pa.Table) -> list[RequestRecord]:
    """Return rows as the records they were made of."""
    return [_record(row) for row in table.select(list(RECORD_COLUMNS)).to_pylist()]


def _column(name: str, values: list[Any]) -> "pa.Array[Any]":
    column: pa.Array[Any] = pa.array(values, type=SCHEMA.field(name).type)
    return column


def _record(row: dict[str, Any]) -> RequestRecord:
    chunks = {name: tuple(row[name]) for name in ("chunk_ns", "chunk_tokens")}
    return RequestRecord(**(row | chunks))
