"""What a study leaves to a search is read in every way of writing it, and refused where it contradicts itself."""

import pytest

from whichbits.errors import BadInput
from whichbits.study.model import Study
from whichbits.study.read import parse_study
from whichbits.study.schema import keys_at, study_schema
from whichbits.study.search import AutoLoads, LoadRange

PLAIN = """
name: small
every_arm: {model: m.gguf}
arms: {a: {weight_format: fp16}, b: {weight_format: w4a16}}
traffic: {kind: random}
loads: auto
"""


def study(more: str = "", loads: str = "auto") -> Study:
    return parse_study(PLAIN.replace("loads: auto", f"loads: {loads}") + more, "study.yaml")


@pytest.mark.parametrize(
    ("written", "lowest", "highest"),
    [("auto", 1, 256), ("{auto: {}}", 1, 256), ("{auto: {to: 32}}", 1, 32), ("{auto: {from: 2, to: 8}}", 2, 8)],
)
def test_auto_is_a_word_or_a_range(written: str, lowest: int, highest: int) -> None:
    asked = study(loads=written)

    assert isinstance(asked.loads, AutoLoads)
    assert (asked.loads.auto.lowest, asked.loads.auto.highest) == (lowest, highest)
    assert asked.searches
    assert asked.fixed_loads == ()
    assert Study.model_validate(asked.model_dump(mode="json")) == asked


@pytest.mark.parametrize(
    ("written", "seconds"), [("20min", 1200), ("1h", 3600), ("90s", 90), ("1.5 h", 5400), ("7", 7), ("0.5", 0.5)]
)
def test_a_budget_is_seconds_or_says_its_unit(written: str, seconds: float) -> None:
    assert study(f"budget: {written}\n").budget == seconds


def test_fixed_loads_may_leave_their_repeats_open() -> None:
    asked = study("repeats: auto\n", loads="[1, 4]")

    assert asked.searches
    assert [load.concurrency for load in asked.fixed_loads] == [1, 4]
    assert not study(loads="[1, 4]").searches


@pytest.mark.parametrize(
    ("more", "loads", "why"),
    [
        ("repeats: 3\n", "auto", "the search decides how often"),
        ("", "{auto: {from: 8, to: 8}}", "from (8) must be below to (8)"),
        ("", "automatic", "loads"),
        ("", "[]", "needs a load"),
        ("", "{auto: {form: 8}}", "did you mean 'from'?"),
        ("budget: soon\n", "auto", "line 7: budget"),
        ("budget: 0\n", "auto", "greater than 0"),
        ("repeats: often\n", "[1]", "auto"),
        ("repeats: 0\n", "[1]", "greater than 0"),
        ("arms_together: doze\n", "[1]", "sleep"),
        ("search_metrics: [cost_per_million_tokens]\n", "auto", "needs a price_per_hour"),
        ("search_metrics: [goodput_requests_per_s]\n", "auto", "needs an slo"),
        ("search_metrics: [tpot_ms.p99]\n", "auto", "search_metrics"),
        ("search_metrics: []\n", "auto", "needs search_metrics or an slo"),
    ],
)
def test_what_contradicts_itself_is_refused_once(more: str, loads: str, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        study(more, loads)

    assert why in str(caught.value)
    assert str(caught.value).count("\n    line") == 1


def test_servers_of_somebody_else_are_not_put_to_sleep() -> None:
    text = PLAIN.replace("{weight_format: fp16}", "{weight_format: fp16, target: 'http://a:1'}")
    with pytest.raises(BadInput, match="only servers to sleep that it started"):
        parse_study(text + "arms_together: sleep\n", "study.yaml")


def test_the_schema_knows_the_keys_of_a_range() -> None:
    assert keys_at(study_schema(), ("loads", "auto")) == ["from", "to"]
    assert keys_at(study_schema(), ("loads", 0)) == ["concurrency", "request_rate"]
    assert LoadRange.model_validate({"from": 2, "to": 4}).model_dump() == {"from": 2, "to": 4}
