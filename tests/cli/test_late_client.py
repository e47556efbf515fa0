"""A late client's numbers beside what the mocks were told."""

from dataclasses import replace

import pytest

from tests.report.make_summary import make_summary
from whichbits.analyze.summary import Summary
from whichbits.cli.late_client import how_late
from whichbits.study.model import Study

SELF_TEST = "`whichbits load --self-test`"


def study(traffic: str = "random", **options: float | str) -> Study:
    arm = {"weight_format": "w4a16", "model": "m", "engine": "mock", "options": options}
    return Study.model_validate({"name": "s", "arms": {"a": arm}, "traffic": {"kind": traffic}, "loads": [8]})


def measured(tpot_ms: float, concurrency: int = 8) -> Summary:
    made = make_summary()
    times = replace(made.cells[0].tpot_ms, p50=tpot_ms)
    return replace(made, cells=(replace(made.cells[0], arm="a", concurrency=concurrency, tpot_ms=times),))


@pytest.mark.parametrize(
    ("asked", "found", "worst"),
    [
        (study(itl_ms=4, itl_per_running_ms=1), measured(12.6), "5.0%"),
        (study(itl_ms=20), measured(20.2), "1.0%"),
        (study("chat", itl_ms=4, itl_per_running_ms=1), measured(5.5, concurrency=1), "10.0%"),
    ],
    ids=["4 + 8 x 1 = 12", "20 at any batch", "4 + 1 alone"],
)
def test_the_distance_from_what_was_ordered_is_told_where_that_is_known(
    asked: Study, found: Summary, worst: str
) -> None:
    said = how_late(found, asked)

    assert f"at most {worst} off" in said
    assert SELF_TEST in said


@pytest.mark.parametrize(
    "asked",
    [study("chat", itl_ms=4, itl_per_running_ms=1), study(itl_ms=4, faults="cut=5@10%")],
    ids=["a batch that changes", "faults"],
)
def test_where_it_is_not_known_only_the_self_test_is_named(asked: Study) -> None:
    said = how_late(measured(12.0), asked)

    assert "off" not in said
    assert SELF_TEST in said
