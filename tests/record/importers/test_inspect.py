"""A benchmark result is told from other files, and what its numbers cannot carry is said."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.importers.make_bench import bench_record, bench_table
from whichbits.record.importers.inspect import recognise
from whichbits.record.inspection import Inspection

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


def inspect(**changed: Any) -> Inspection:
    found = recognise("result.json", json.dumps(bench_record(**changed)))
    assert found is not None
    return found


def warnings(**changed: Any) -> set[str]:
    return {warning.code for warning in inspect(**changed).warnings}


def errors(**changed: Any) -> set[str]:
    return {error.code for error in inspect(**changed).errors}


def test_a_sound_result_has_nothing_to_say_against_it() -> None:
    found = inspect()

    assert (found.kind, found.engine, found.errors, found.warnings) == ("bench_json", None, (), ())
    assert found.facts["mean_output_tokens"] == 100
    assert found.facts["first_token_share"] == pytest.approx(100 / (100 + 99 * 40))


def test_json_and_table_of_one_result_agree() -> None:
    table = bench_table(("Successful requests", 40), ("Total generated tokens", 4000), ("Mean TTFT (ms)", 100.0))

    printed = recognise("out.txt", table)

    assert printed is not None
    assert printed.kind == "bench_stdout"
    assert printed.facts.items() <= inspect().facts.items()


def test_several_results_are_never_mixed() -> None:
    lines = "\n".join(json.dumps(bench_record(max_concurrency=cap, completed=cap)) for cap in (8, 32))
    found = recognise("r.json", lines)

    assert found is not None
    assert found.facts["records"] == 2
    assert [run["max_concurrency"] for run in found.facts["runs"]] == [8, 32]
    assert [(error.code, error.line) for error in found.errors] == [
        ("most_requests_failed", "run 1: 32 of 40 requests failed")
    ]


def test_a_run_of_failures_is_an_error() -> None:
    assert errors(completed=10, failed=30) == {"most_requests_failed"}
    assert errors(completed=10) == {"most_requests_failed"}
    assert errors(completed=30, failed=10) == set()
    assert warnings(completed=30, failed=10) == {"requests_left_out_of_statistics"}


def test_outputs_too_short_to_decode_are_told() -> None:
    assert warnings(total_output_tokens=40, mean_tpot_ms=0.0) >= {"one_token_outputs_no_decode"}
    assert warnings(total_output_tokens=240) == {"outputs_too_short_for_tpot"}


def test_prefill_is_not_taken_for_decoding() -> None:
    """Long prompts and a first token that takes most of the time; neither alone is enough."""
    assert warnings(total_input_tokens=80_000, mean_ttft_ms=9000.0) == {"prefill_bound"}
    assert warnings(total_input_tokens=80_000, mean_tpot_ms=None, mean_e2el_ms=150.0) == {"prefill_bound"}
    assert warnings(mean_ttft_ms=9000.0) == set()
    assert warnings(total_input_tokens=80_000) == set()


def test_a_stream_in_bursts_is_told_from_a_fast_one() -> None:
    assert warnings(median_itl_ms=0.02) == {"median_itl_near_zero_bursty_stream"}
    assert warnings(median_itl_ms=0.5, mean_itl_ms=0.6) == set()


def test_where_nothing_holds_requests_back_ttft_is_queueing() -> None:
    """40 requests: a cap of 40 is none."""
    queueing = {"unlimited_rate_ttft_is_queueing"}
    assert warnings(request_rate="inf", max_concurrency=None) == queueing
    assert warnings(request_rate="inf", max_concurrency=40) == queueing
    assert warnings(request_rate="inf", max_concurrency=8) == set()
    assert warnings(request_rate=5.0, max_concurrency=None) == set()


@given(st.text() | json_values.map(json.dumps))
def test_anything_else_is_refused(text: str) -> None:
    assert recognise("some.json", text) is None


@given(st.dictionaries(st.sampled_from(sorted(bench_record())), json_values))
def test_odd_values_are_read_as_unknown(odd: dict[str, Any]) -> None:
    """Values of any type where numbers belong never raise, and never come out as facts that are no numbers."""
    found = recognise("r.json", json.dumps(bench_record() | odd))

    assert found is not None
    assert isinstance(found.facts.get("mean_ttft_ms"), int | float | None)
