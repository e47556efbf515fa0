"""Our reading of Prometheus text agrees with prometheus_client's, and absent is never 0."""

import math
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from whichbits.serve.metrics import Sample, parse, text, total
from whichbits.serve.metrics.text import escaped

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


@given(st.text())
def test_a_label_that_is_written_is_read_back(value: str) -> None:
    """By us and by the reference parser, whatever stands in it."""
    line = f'runs{{name="{escaped(value)}"}} 1.0\n'

    assert parse(line) == [Sample("runs", {"name": value}, 1.0)]
    (family,) = text_string_to_metric_families(line)
    assert family.samples[0].labels == {"name": value}


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


LINES = [
    "a 1",
    "a  1",
    "a\t1",
    " a 1 ",
    "a 1\r",
    "a 1 1700000000",
    "a{} 2",
    'a{x="y z"} 2',
    'a{x="y z"}2',
    'a {x="}"} 2',
    'a{x="\\"\\n\\\\"} NaN',
    'a{x="y" 2',
    'a{x="1",y="2"} +Inf 5',
    "a 1_0",
    "a word",
    "a",
    "a ",
    " 1",
    "",
    "# a 1",
    " # a 1",
    "1a 1",
    "a 1\u00a0",
    "a \uff15",
    "a 1 2 3",
]


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_lines_that_were_met_before_are_read_as_new_ones_are(lines: list[str]) -> None:
    expected = [found for line in lines if (found := text._unusual(line)) is not None]

    assert rows(parse("\n".join(lines))) == rows(expected)
    assert rows(parse("\n".join(lines))) == rows(expected)
