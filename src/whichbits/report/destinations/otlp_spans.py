"""Requests as OpenTelemetry spans: a trace a cell, a span a request, with the moments that its metrics count from.

Names of attributes follow the semantic conventions for generative AI where there are some:
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from whichbits.record.schema import Cell
from whichbits.report.destinations.destination import Outgoing
from whichbits.study.model import load_name

SCOPE = InstrumentationScope("whichbits")


def resource(outgoing: Outgoing) -> Resource:
    """Return what all spans and metrics of a run share."""
    manifest = outgoing.run.manifest
    told = {"service.name": "whichbits", "whichbits.study": manifest.name, "whichbits.source": manifest.source}
    return Resource(told | {"whichbits.run": outgoing.run.folder.name})


def cell_attributes(outgoing: Outgoing, cell: Cell) -> dict[str, str | int | float]:
    """Return what names a cell: its arm, weight format, model, load and repeat."""
    arm = outgoing.summary.arms.get(cell.arm)
    told: dict[str, str | int | float | None] = {
        "whichbits.cell": cell.cell,
        "whichbits.arm": cell.arm,
        "whichbits.weight_format": None if arm is None else arm.weight_format,
        "gen_ai.request.model": None if arm is None else arm.model,
        "whichbits.concurrency": cell.concurrency,
        "whichbits.request_rate": cell.request_rate,
        "whichbits.repeat": cell.repeat,
    }
    return {name: value for name, value in told.items() if value is not None}


def spans(outgoing: Outgoing) -> Iterator[ReadableSpan]:
    """Yield a span for each finished cell, followed by those of its requests.

    Ids follow from the run, so that what is sent twice is the same twice. A request's span begins when it was due and
    ends with its answer; ``sent``, ``first_token`` and ``last_token`` are events of it.
    """
    shared = resource(outgoing)
    for cell in outgoing.run.cells:
        if cell.state == "done" and cell.started_ns is not None:
            yield from _of_cell(outgoing, cell, shared)


def _of_cell(outgoing: Outgoing, cell: Cell, shared: Resource) -> Iterator[ReadableSpan]:
    origin, told = outgoing.run.manifest.origin_unix_ns, cell_attributes(outgoing, cell)
    context = _context(outgoing, cell, None)
    yield ReadableSpan(
        name=f"cell {cell.arm} {load_name(cell.concurrency, cell.request_rate)}",
        context=context,
        resource=shared,
        attributes=told,
        start_time=origin + (cell.started_ns or 0),
        end_time=None if cell.finished_ns is None else origin + cell.finished_ns,
        instrumentation_scope=SCOPE,
    )
    for batch in outgoing.run.of_cell(cell.cell).to_batches(max_chunksize=1024):
        for row in batch.to_pylist():
            yield ReadableSpan(
                name="text_completion",
                context=_context(outgoing, cell, row["index"]),
                parent=context,
                resource=shared,
                attributes=told | _attributes(row),
                kind=SpanKind.CLIENT,
                instrumentation_scope=SCOPE,
                **_course(row, origin),
            )


def _course(row: Mapping[str, Any], origin: int) -> dict[str, Any]:
    """Return when a request began and ended, what happened between, and how it ended."""
    ended = row["scheduled_ns"] if row["finished_ns"] is None else row["finished_ns"]
    code = row["error_code"]
    return {
        "start_time": origin + row["scheduled_ns"],
        "end_time": origin + ended,
        "events": [Event(name, timestamp=origin + moment) for name, moment in _moments(row)],
        "status": Status(StatusCode.UNSET) if code is None else Status(StatusCode.ERROR, code),
    }


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    told = {
        "gen_ai.operation.name": "text_completion",
        "gen_ai.request.max_tokens": row["requested_output_tokens"],
        "gen_ai.usage.input_tokens": row["prompt_tokens"],
        "gen_ai.usage.output_tokens": row["output_tokens"],
        "gen_ai.response.finish_reasons": None if row["finish_reason"] is None else (row["finish_reason"],),
        "http.response.status_code": row["http_status"],
        "error.type": row["error_code"],
        "whichbits.index": row["index"],
        "whichbits.replica": row["replica"],
        "whichbits.cached_tokens": row["cached_tokens"],
    }
    return {name: value for name, value in told.items() if value is not None}


def _moments(row: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    if row["sent_ns"] is not None:
        yield "sent", row["sent_ns"]
    if row["chunk_ns"]:
        yield "first_token", row["chunk_ns"][0]
        yield "last_token", row["chunk_ns"][-1]


def _context(outgoing: Outgoing, cell: Cell, index: int | None) -> SpanContext:
    name = f"{outgoing.run.manifest.created} {outgoing.run.folder.name} {cell.cell}"
    trace = hashlib.sha256(name.encode()).digest()
    span = hashlib.sha256(f"{name} {index}".encode()).digest()
    return SpanContext(
        int.from_bytes(trace[:16]),
        int.from_bytes(span[:8]),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
