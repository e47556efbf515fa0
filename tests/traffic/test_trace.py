"""Traces as traffic and as arrivals: lengths, times scaled, and hashes that become shared blocks."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.studies import file_of, planned, study
from tests.traffic.test_inspect_dataset import AZURE, BURST
from whichbits.errors import BadInput
from whichbits.traffic.plan import traffic_facts
from whichbits.traffic.traces import each_record_arrival, each_table_arrival

ROWS = ((0, 1000, 20, [1, 2]), (3000, 1500, 9, [1, 2, 3]), (4000, 512, 4, [4]), (10_000, 1030, 60, [1, 5]))


def mooncake(rows: Any = ROWS) -> str:
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    return "\n".join(json.dumps(dict(zip(keys, row, strict=True))) for row in rows)


def traffic(folder: Path, text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "trace", "path": file_of(folder, text, "trace"), **more}


def test_equal_hashes_are_equal_blocks_and_others_are_not(tmp_path: Path) -> None:
    first, second, third, fourth = (request.prompt for request in planned(traffic(tmp_path, mooncake()), 4))

    assert [len(prompt) for prompt in (first, second, third, fourth)] == [1000, 1500, 512, 1030]
    assert second[:1000] == first
    assert fourth[:512] == first[:512]
    assert fourth[512:1024] != second[512:1024]
    assert third[:16] != first[:16]


def test_blocks_are_the_same_for_all_arms_and_new_in_every_repeat(tmp_path: Path) -> None:
    trace = traffic(tmp_path, mooncake())
    first, again = planned(trace, 4), planned(trace, 4, repeat=1)

    assert planned(trace, 4) == first
    assert [len(request.prompt) for request in first] == [len(request.prompt) for request in again]
    assert first[0].prompt[:512] != again[0].prompt[:512]
    assert again[1].prompt[:1000] == again[0].prompt


def test_a_trace_that_is_exhausted_begins_anew_with_other_blocks(tmp_path: Path) -> None:
    requests = planned(traffic(tmp_path, mooncake()), 6, rate=1.0, arrivals="trace")

    assert [request.output_tokens for request in requests] == [20, 9, 4, 60, 20, 9]
    assert requests[4].prompt[:512] != requests[0].prompt[:512]
    assert requests[5].prompt[:1000] == requests[4].prompt


@pytest.mark.parametrize("block_tokens", [16, 512])
def test_what_no_hash_covers_is_the_request_s_own(tmp_path: Path, block_tokens: int) -> None:
    rows = ((0, 1500, 2, [1]), (1, 1500, 2, [1]))
    first, second = planned(traffic(tmp_path, mooncake(rows), block_tokens=block_tokens), 2)

    assert first.prompt[:block_tokens] == second.prompt[:block_tokens]
    assert first.prompt[block_tokens:] != second.prompt[block_tokens:]


@pytest.mark.parametrize(("text", "name"), [(BURST, "burstgpt"), (AZURE, "azure"), (mooncake(), "mooncake")])
def test_each_format_gives_its_lengths_in_order_of_time(tmp_path: Path, text: str, name: str) -> None:
    facts = traffic_facts(study(traffic(tmp_path, text)))
    requests = planned(traffic(tmp_path, text), 2)

    assert facts["format"] == name
    if name != "mooncake":
        assert (facts["rows_usable"], facts["rows_unusable"]) == (2, 1)
        assert [(len(request.prompt), request.output_tokens) for request in requests] == [(10, 20), (50, 60)]
        assert facts["first_unusable_row"] in ({"no_output_tokens": 2}, {"unreadable_tokens": 2})


def test_the_pattern_is_kept_and_the_mean_gap_is_the_load_s(tmp_path: Path) -> None:
    """Gaps of 3, 1 and 6 s, at 2 requests a second: three gaps over 1.5 s, so 0.45, 0.15 and 0.9 s."""
    requests = planned(traffic(tmp_path, mooncake()), 4, rate=2.0, arrivals="trace")

    assert [request.offset_ns for request in requests] == pytest.approx([0, 45e7, 6e8, 15e8], abs=2)


def test_a_speed_keeps_the_trace_s_own_times(tmp_path: Path) -> None:
    """Four requests in 10 s have a mean gap of 10/3 s; ten times faster that is 3 a second."""
    arrivals = {"kind": "trace", "speed": 10}
    requests = planned(traffic(tmp_path, mooncake()), 5, rate=3.0, arrivals=arrivals)

    assert [request.offset_ns for request in requests] == pytest.approx([0, 3e8, 4e8, 1e9, 4e9 / 3], abs=2)
    with pytest.raises(BadInput) as caught:
        planned(traffic(tmp_path, mooncake()), 4, rate=2.0, arrivals=arrivals)
    assert caught.value.code == "trace_rate_differs"
    assert "request_rate: 3}" in caught.value.fix


def test_another_traffic_can_come_in_the_pattern_of_a_trace(tmp_path: Path) -> None:
    path = file_of(tmp_path, BURST)
    arrivals = {"kind": "trace", "path": path}
    requests = planned({"kind": "random"}, 5, rate=1.0, arrivals=arrivals)
    facts = traffic_facts(study({"kind": "random"}, arrivals=arrivals))

    assert [request.offset_ns for request in requests] == pytest.approx([0, 1e9, 2e9, 3e9, 4e9], abs=2)
    assert facts["arrivals"]["format"] == "burstgpt"


def test_times_out_of_order_are_sorted(tmp_path: Path) -> None:
    rows = (ROWS[3], ROWS[0], ROWS[2], ROWS[1])
    requests = planned(traffic(tmp_path, mooncake(rows)), 4, rate=1.0, arrivals="trace")

    assert [request.output_tokens for request in requests] == [20, 9, 4, 60]
    assert all((a.offset_ns or 0) <= (b.offset_ns or 0) for a, b in pairwise(requests))


def test_limits_leave_out_what_is_too_long(tmp_path: Path) -> None:
    limited = traffic(tmp_path, mooncake(), longest_input=1100, longest_output=30)

    assert traffic_facts(study(limited))["unusable"] == {"prompt_too_long": 1, "answer_too_long": 1}
    assert [request.output_tokens for request in planned(limited, 2)] == [20, 4]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "traffic_file_unusable"),
        ("a,b\n1,2\n", "traffic_file_unusable"),
        ('{"timestamp": 1}', "traffic_file_unusable"),
        (BURST.splitlines()[0], "traffic_file_unusable"),
        ("{not json\n", "traffic_file_unusable"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(BadInput) as caught:
        planned(traffic(tmp_path, text), 2)

    assert caught.value.code == code


def test_a_trace_at_one_moment_has_no_pattern(tmp_path: Path) -> None:
    rows = ((5, 10, 2, [1]), (5, 10, 2, [1]))
    with pytest.raises(BadInput) as caught:
        planned(traffic(tmp_path, mooncake(rows)), 2, rate=1.0, arrivals="trace")

    assert caught.value.code == "trace_without_span"


def test_a_trace_may_be_one_array_and_odd_lines_are_counted(tmp_path: Path) -> None:
    array = json.dumps([json.loads(line) for line in mooncake().splitlines()])
    lines = mooncake().splitlines()
    odd = "\n".join([lines[0], "{not json", "[1]", *lines[1:]])

    assert planned(traffic(tmp_path, array), 4) == planned(traffic(tmp_path, "\ufeff \n" + mooncake()), 4)
    facts = traffic_facts(study(traffic(tmp_path, odd)))
    assert (facts["rows_usable"], facts["unusable"], facts["first_unusable_row"]) == (
        4,
        {"not_an_object": 2},
        {"not_an_object": 2},
    )


@settings(deadline=None)
@given(st.sampled_from([BURST, AZURE, ""]), st.text())
def test_any_lines_are_arrivals_or_reasons(start: str, text: str) -> None:
    _, rows = each_table_arrival((start + text).splitlines(keepends=True))

    list(rows)


odd = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
)
keys = st.sampled_from(["timestamp", "input_length", "output_length", "hash_ids"])


@settings(deadline=None)
@given(st.lists(odd | st.dictionaries(keys, odd)))
def test_any_records_are_arrivals_or_reasons(values: list[Any]) -> None:
    first = json.loads(mooncake().splitlines()[0])
    found, rows = each_record_arrival([first, *values])

    assert found == "mooncake"
    assert len(list(rows)) == 1 + len(values)
