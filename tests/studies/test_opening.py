"""The late first tokens that set the loads of the service level in docs/h200.md: all are of a cell's opening."""

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.docs.pages import page
from tests.studies.scripts import STUDIES

NAMES = {"FP16": "fp16", "W4A16": "w4a16", "W8A8 FP8": "w8a8-fp8", "W8A8 INT8": "w8a8-int8"}
BOUND_MS = 500


class Row(NamedTuple):
    """A line of the page's table; ``late`` counts requests of each repeat."""

    load: str
    chat: str
    arm: str
    late: str
    sent: str
    latest_ms: str


ROWS = [
    Row(*cells)
    for cells in re.findall(
        r"^\| (\d+)(, chat)? \| ([\w ]+) \| ([\d, ]+) of (\d+) \| (\d+) ms \|$", page("h200.md"), flags=re.MULTILINE
    )
]


def test_the_table_is_there() -> None:
    assert len(ROWS) == 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.arm} {row.load}")
def test_only_first_requests_of_a_stream_are_late(row: Row) -> None:
    late, after_ms = [], []
    for due_ns, ttft_ms in _repeats(row):
        opening = due_ns == due_ns.min()  # all streams begin at once

        assert (opening.sum(), len(due_ns)) == (int(row.load), int(row.sent))
        late.append(int((ttft_ms[opening] > BOUND_MS).sum()))
        after_ms.append(ttft_ms[~opening].max())

    assert late == [int(each) for each in row.late.split(", ")]
    assert max(after_ms) == pytest.approx(int(row.latest_ms), abs=0.5)


def _repeats(row: Row) -> list[tuple[Any, Any]]:
    """Return the due times in ns and TTFT in ms of each repeat."""
    study = "qwen2.5-7b-chat" if row.chat else "qwen2.5-7b-search"
    wanted = (pc.field("arm") == NAMES[row.arm]) & (pc.field("concurrency") == int(row.load))
    rows: Any = pq.read_table(STUDIES / "h200" / "results" / study / "requests.parquet").filter(wanted)
    first = rows["first_chunk_us"] if "first_chunk_us" in rows.column_names else pc.list_element(rows["chunk_us"], 0)
    due_ns, repeat = rows["scheduled_ns"].to_numpy(), rows["repeat"].to_numpy()
    ttft_ms = (first.to_numpy() - due_ns / 1e3) / 1e3
    return [(due_ns[repeat == each], ttft_ms[repeat == each]) for each in np.unique(repeat)]
