"""Result objects of every version say the same under the same names."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.importers.make_bench import bench_record
from whichbits.record.importers.bench_json import read_bench_json

measured = st.floats(0, 1e9) | st.integers(0, 10**9)


def read_one(**changed: Any) -> dict[str, Any]:
    (facts,) = read_bench_json(json.dumps(bench_record(**changed)))
    return facts


@given(
    st.fixed_dictionaries(
        {f"{statistic}_{quantity}_ms": measured for statistic in ("mean", "p99.9") for quantity in ("ttft", "itl")}
        | {"completed": st.integers(0, 10**6), "burstiness": measured, "output_throughput": measured}
    )
)
def test_numbers_come_back_as_they_were_written(numbers: dict[str, float]) -> None:
    facts = read_one(**numbers)

    assert {name: facts[name] for name in numbers} == numbers


def test_names_carry_units_and_do_not_depend_on_the_version() -> None:
    facts = read_one(**{"request_goodput:": 0.5, "p90_e2el_ms": 7.0, "endpoint_type": "vllm", "backend": None})

    assert facts["duration_s"] == 50.0
    assert (facts["input_tokens"], facts["output_tokens"], facts["total_throughput"]) == (8000, 4000, 240.0)
    assert (facts["request_goodput"], facts["p90_e2e_ms"], facts["backend"]) == (0.5, 7.0, "vllm")


@pytest.mark.parametrize("rate", ["inf", math.inf])
def test_an_unbounded_rate_is_the_text_inf(rate: object) -> None:
    assert read_one(request_rate=rate)["request_rate"] == "inf"


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, "fast", True])
def test_what_was_not_measured_is_none(value: object) -> None:
    assert read_one(mean_tpot_ms=value)["mean_tpot_ms"] is None


def test_a_count_that_the_file_lacks_is_absent() -> None:
    assert "failed" not in read_one()


def test_detailed_errors_tell_how_many_failed_where_no_count_does() -> None:
    assert read_one(errors=["", "refused", ""], ttfts=[0.1, 0.0, 0.1])["failed"] == 1
    assert read_one(errors=["", "refused", ""], failed=2)["failed"] == 2


def test_what_the_user_added_stays_apart() -> None:
    assert read_one(gpu="L4", ranks=2)["metadata"] == {"gpu": "L4", "ranks": 2}


def test_appended_results_are_several() -> None:
    lines = "\n".join(json.dumps(bench_record(max_concurrency=cap)) for cap in (1, 4, 16))

    assert [facts["max_concurrency"] for facts in read_bench_json(lines)] == [1, 4, 16]


def test_other_json_is_no_result() -> None:
    assert read_bench_json('{"duration": 3, "completed": 4}') == []
    assert read_bench_json("") == []
