"""What the documentation and the dashboard say of metrics: every name is one that a study shows."""

import json
import re
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.record.make_run import ended, manifest, record
from whichbits.conduct.events import CellProgress
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell
from whichbits.record.timelines import Timelines
from whichbits.report.prometheus.latencies import TOKEN_BOUNDS_S, TTFT_BOUNDS_S, Latencies
from whichbits.report.prometheus.watched_run import Now, WatchedRun, exposition
from whichbits.serve.metrics.counters import EngineCounters

DOCS = Path(__file__).parents[3] / "docs"
CELL = Cell(0, "a", 2, None, 0)
_NAME = re.compile(r"whichbits_[a-z_]+")


def everything() -> dict[str, str]:
    """Return all families that there are, with their kinds."""
    records = [record()]
    now = Now(
        phase="measuring",
        cell=CELL,
        progress=CellProgress(1, 0, 2, 10, 1.0, sent=2),
        cells=(CELL,),
        left_s=1.0,
        budget_s=2.0,
        latencies={("a", "c2"): Latencies.of(Timelines.of(table_of(ended(CELL, records), records)))},
        engines={"0": EngineCounters(requests_running=1, requests_waiting=0, kv_cache_usage=0.5)},
    )
    text = exposition([WatchedRun("run", manifest(cells=(CELL,)), now)])
    return {family.name: family.type for family in text_string_to_metric_families(text)}


def of_family(name: str) -> str:
    """Return the family that a name in a query belongs to."""
    return re.sub(r"_(bucket|sum|count|total)$", "", name)


def test_the_page_lists_every_metric_and_no_other() -> None:
    page = (DOCS / "view.md").read_text()
    listed = {of_family(name) for name in _NAME.findall(page[page.index("## Prometheus") :])}

    assert listed == set(everything())


def test_the_page_states_the_buckets() -> None:
    page = (DOCS / "view.md").read_text()

    for bounds in (TTFT_BOUNDS_S, TOKEN_BOUNDS_S):
        assert ", ".join(f"{bound:g}" for bound in bounds) in page


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    families = everything()
    asked = list(queries(json.loads((DOCS / "grafana.json").read_text())))

    assert len(asked) > 10
    for query in asked:
        names = _NAME.findall(query)
        assert names, query
        for name in names:
            kind = families[of_family(name)]
            assert name.endswith("_total") == (kind == "counter"), query
            assert name.endswith("_bucket") == (kind == "histogram"), query


def queries(dashboard: dict[str, Any]) -> list[str]:
    """Return every expression of a dashboard, and what its variables are looked up by."""
    looked_up = [each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    return [*looked_up, *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])]
