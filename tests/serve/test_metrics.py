"""Our reading of Prometheus text agrees with prometheus_client's, and absent is never 0."""

import math
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from whichbits.serve.metrics import EngineCounters, Sample, difference, parse, read_counters, total

LABEL_VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.floats(allow_nan=True, allow_infinity=True)


def rows(samples: Iterable[Sample]) -> list[tuple[str, list[tuple[str, str]], str]]:
    """Samples as comparable rows; NaN equals NaN."""
    return [(name, sorted(labels.items()), repr(value)) for name, labels, value in samples]


@given(series=st.dictionaries(st.tuples(LABEL_VALUES, LABEL_VALUES), VALUES, max_size=5))
def test_agrees_with_the_reference_parser(series: dict[tuple[str, str], float]) -> None:
    registry = CollectorRegistry()
    gauge = Gauge("vllm:some_gauge", "Help with \\ and\nnewline", ["model_name", "reason"], registry=registry)
    Counter("vllm:plain", 'Help {with="braces"} 1', registry=registry).inc(3)
    for labels, value in series.items():
        gauge.labels(*labels).set(value)
    text = generate_latest(registry).decode()

    families = text_string_to_metric_families(text)
    reference = [Sample(*sample[:3]) for family in families for sample in family.samples]

    assert rows(parse(text)) == rows(reference)


@given(text=st.text(st.sampled_from('ab_1 {}"\\=,.#\n\r\t+-Ie'), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(sample.name for sample in parse(text))


def test_odd_lines_are_passed_over_and_the_rest_is_read() -> None:
    text = (
        "# TYPE a counter\r\n"
        'a{x="1 } , y"} 5 1700000000000\r\n'
        '  b { x = "1" , } +Inf\n'
        'broken{x="1 4\n'
        "no_value\n"
        "word value\n"
        "c 1e3"
    )

    assert parse(text) == [
        Sample("a", {"x": "1 } , y"}, 5.0),
        Sample("b", {"x": "1"}, math.inf),
        Sample("c", {}, 1000.0),
    ]


def test_a_total_sums_the_label_sets_that_agree() -> None:
    samples = parse('n{r="stop",e="0"} 2\nn{r="length",e="0"} 3\nn{r="stop",e="1"} 4\nn{r="odd",e="1"} NaN\n')

    assert total(samples, "n") == 9
    assert total(samples, "n", r="stop") == 6
    assert total(samples, "n", r="odd") is None
    assert total(samples, "m") is None


def test_counters_of_an_engine_with_two_cores() -> None:
    text = """
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:prompt_tokens_total{engine="0"} 1836.0
vllm:prompt_tokens_created{engine="0"} 1.7959635628512876e+09
vllm:prefix_cache_hits_total{engine="0"} 1024.0
vllm:generation_tokens_total{engine="0"} 40.0
vllm:generation_tokens_total{engine="1"} 45.0
vllm:request_success_total{engine="0",finished_reason="stop"} 1.0
vllm:request_success_total{engine="0",finished_reason="length"} 7.0
vllm:num_requests_running{engine="0"} 2.0
embedded:num_preemptions_total 9
"""

    assert read_counters(text, "vllm:") == EngineCounters(
        prompt_tokens=1836,
        cached_prompt_tokens=1024,
        generation_tokens=85,
        requests_finished=8,
        requests_running=2,
        kv_cache_usage=0.5,
        preemptions=None,
    )
    assert read_counters(text, "embedded:").preemptions == 9


def test_a_difference_is_unknown_where_a_scrape_is_silent_or_a_counter_fell() -> None:
    before = EngineCounters(100, None, 50, 5, 3, 0.5, 0)
    after = EngineCounters(160, 7, 10, 9, 1, 0.25, 0)

    assert difference(before, after) == EngineCounters(60, None, None, 4, 1, 0.25, 0)
