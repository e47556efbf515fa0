"""OTLP over HTTP: spans of requests and gauges of cells, by OpenTelemetry's own exporters.

Keys go into ``OTEL_EXPORTER_OTLP_HEADERS``, as everywhere with OpenTelemetry; prompts and answers are not sent.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from whichbits.language.amounts import amount
from whichbits.language.phrase import phrase
from whichbits.report.destinations.destination import Outgoing, library, refused

DEFAULT_ENDPOINT = "http://localhost:4318"

_BATCH = 512
"""Spans a message: some 300 KB, well below what collectors take."""


def otlp(outgoing: Outgoing) -> Iterator[str]:
    """Send to the collector at ``endpoint``, else at ``OTEL_EXPORTER_OTLP_ENDPOINT``, else on this machine."""
    library("opentelemetry.exporter.otlp.proto.http", "otlp")
    endpoint = outgoing.endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or DEFAULT_ENDPOINT
    endpoint = endpoint.rstrip("/")
    with _quietly():
        spans = _send_spans(outgoing, endpoint)
        yield phrase("otlp: {spans} to {address}", spans=amount(spans, "span"), address=f"{endpoint}/v1/traces")
        metrics = _send_metrics(outgoing, endpoint)
        yield phrase(
            "otlp: {metrics} to {address}", metrics=amount(metrics, "metric"), address=f"{endpoint}/v1/metrics"
        )


def _send_spans(outgoing: Outgoing, endpoint: str) -> int:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    from whichbits.report.destinations.otlp_spans import spans

    exporter, sent, made = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces"), 0, spans(outgoing)
    while batch := list(islice(made, _BATCH)):
        if exporter.export(batch) is not SpanExportResult.SUCCESS:
            raise refused(f"{endpoint}/v1/traces", f"{amount(sent, 'span')} had arrived")
        sent += len(batch)
    exporter.shutdown()  # type: ignore[no-untyped-call]
    return sent


def _send_metrics(outgoing: Outgoing, endpoint: str) -> int:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricExportResult

    from whichbits.report.destinations.otlp_metrics import metrics

    exporter, data = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics"), metrics(outgoing)
    if exporter.export(data) is not MetricExportResult.SUCCESS:
        raise refused(f"{endpoint}/v1/metrics", "no metric has arrived")
    exporter.shutdown()
    return len(data.resource_metrics[0].scope_metrics[0].metrics)


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the exporters from logging each try: what comes of them is told once."""
    logger = logging.getLogger("opentelemetry.exporter")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
