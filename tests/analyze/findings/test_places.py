"""How cells are named in one line."""

from dataclasses import replace

from tests.report.make_summary import make_summary
from whichbits.analyze.findings.observed import places

ONE = make_summary(arms=("fp16",)).cells[0]


def test_loads_stand_in_their_order_whatever_the_order_of_cells() -> None:
    cells = [replace(ONE, concurrency=load, repeat=repeat) for load in (512, 5, 108) for repeat in (0, 1)]

    assert places(cells) == "fp16 at c5, c108, c512"


def test_many_loads_are_named_by_their_ends() -> None:
    cells = [replace(ONE, concurrency=load) for load in (512, 5, 108, 23, 235)]

    assert places([*cells, replace(ONE, arm="w8a8", concurrency=5)]) == "fp16 at 5 loads from c5 to c512; w8a8 at c5"


def test_loads_are_told_as_rates_where_they_are_rates() -> None:
    cells = [replace(ONE, concurrency=None, request_rate=rate) for rate in (16.0, 2.5)]

    assert places(cells) == "fp16 at 2.5/s, 16/s"
