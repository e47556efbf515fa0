"""Cells as OpenTelemetry gauges: ``whichbits.`` and the address that a number has in summary.json, a point a cell."""

from collections import defaultdict

from opentelemetry.sdk.metrics.export import (
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)

from whichbits.record.schema import Cell
from whichbits.report.destinations.arm_series import numbers
from whichbits.report.destinations.destination import Outgoing
from whichbits.report.destinations.otlp_spans import SCOPE, cell_attributes, resource

_UNITS = {"_ms": "ms", "_per_s": "1/s", "_s": "s"}


def metrics(outgoing: Outgoing) -> MetricsData:
    """Return a gauge for each number that is known of some finished cell; a point's time is the cell's end."""
    points: dict[str, list[NumberDataPoint]] = defaultdict(list)
    cells = {cell.cell: cell for cell in outgoing.run.cells if cell.state == "done"}
    for told in outgoing.summary.cells:
        if told.cell in cells:
            for address, value in numbers(told).items():
                points[address].append(_point(outgoing, cells[told.cell], value))
    found = [Metric(f"whichbits.{each}", None, _unit(each), Gauge(of)) for each, of in points.items()]
    return MetricsData([ResourceMetrics(resource(outgoing), [ScopeMetrics(SCOPE, found, "")], "")])


def _point(outgoing: Outgoing, cell: Cell, value: float) -> NumberDataPoint:
    origin = outgoing.run.manifest.origin_unix_ns
    began, ended = cell.started_ns or 0, cell.finished_ns or 0
    return NumberDataPoint(cell_attributes(outgoing, cell), origin + began, origin + ended, value)


def _unit(address: str) -> str:
    holder = address.partition(".")[0]
    return next((unit for ending, unit in _UNITS.items() if holder.endswith(ending)), "1")
