"""``vllm bench throughput`` and ``latency``: files and prints, seconds turned into milliseconds."""

import pytest

from whichbits.record.importers.inspect import recognise
from whichbits.record.inspection import Inspection

PRINTED = """\
INFO 02-03 04:05:06 [x.py:9] something else
Throughput: 10.00 requests/s, 3000.00 total tokens/s, 1000.00 output tokens/s
Total num prompt tokens:  20000
Total num output tokens:  10000
"""
LATENCIES = "Avg latency: 1.5 seconds\n10% percentile latency: 1.25 seconds\n50% percentile latency: 1.45 seconds\n"


def read(text: str) -> Inspection:
    found = recognise("result", text)
    assert found is not None
    return found


def test_a_throughput_file() -> None:
    found = read(
        '{"elapsed_time": 10.0, "num_requests": 100, "total_num_tokens": 30000, "requests_per_second": 10.0, '
        '"tokens_per_second": 3000.0}'
    )

    assert found.kind == "bench_json"
    assert found.facts == {
        "duration_s": 10.0, "num_prompts": 100, "total_tokens": 30000, "request_throughput": 10.0,
        "total_throughput": 3000.0, "records": 1,
    }  # fmt: skip
    assert found.errors == ()


def test_a_latency_file() -> None:
    found = read('{"avg_latency": 1.5, "latencies": [1.4, 1.6], "percentiles": {"50": 1.45, "99": 1.6}}')

    assert found.kind == "bench_json"
    assert found.facts == {"mean_e2e_ms": 1500, "median_e2e_ms": 1450, "p99_e2e_ms": 1600, "records": 1}


def test_what_the_tools_print() -> None:
    throughput, latency = read(PRINTED), read(LATENCIES)

    assert throughput.kind == "bench_stdout"
    assert throughput.facts == {
        "request_throughput": 10.0, "total_throughput": 3000.0, "output_throughput": 1000.0, "input_tokens": 20000,
        "output_tokens": 10000, "records": 1,
    }  # fmt: skip
    assert throughput.lines["input_tokens"] == "Total num prompt tokens:  20000"
    assert latency.facts == {"mean_e2e_ms": 1500, "p10_e2e_ms": 1250, "median_e2e_ms": 1450, "records": 1}


@pytest.mark.parametrize(
    "text", ['{"avg_latency": 1.5}', '[{"elapsed_time": 1}]', "Throughput: fine", "latency 50% percentile"]
)
def test_what_is_no_such_result(text: str) -> None:
    assert recognise("result", text) is None
