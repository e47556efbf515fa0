"""The answer by regime, its scope, and what would flip it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.analyze.make_cell import summaries, summary
from tests.analyze.make_observed import arm, room
from tests.record.make_run import manifest
from whichbits.analyze.answer.ranking import Compared
from whichbits.analyze.answer.regimes import answer
from whichbits.analyze.answer.scope import holds_for
from whichbits.analyze.crossings.crossover import crossovers
from whichbits.analyze.summary import ArmSummary, CellSummary, Finding, SloCapacity
from whichbits.analyze.summary.verdicts import Answer, Regime

ARMS = {"w8a8": arm("w8a8", "w8a8-fp8", device_name="NVIDIA L4"), "w4a16": arm("w4a16", device_name="NVIDIA L4")}
TPOT = {"w8a8": {1: 34.9, 100: 66.5}, "w4a16": {1: 27.8, 100: 75.1}}


def compared(cells: Sequence[CellSummary], arms: Mapping[str, ArmSummary] = ARMS, **more: Any) -> Answer | None:
    found = crossovers(cells, tuple(arms))
    return answer(Compared(replace(manifest(), study={"traffic": {"kind": "chat"}}), arms, cells, found, **more))


def regimes(found: Answer | None) -> dict[str, Regime]:
    assert found is not None
    return {regime.regime: regime for regime in found.regimes}


def with_throughput(pace: Mapping[str, float]) -> list[CellSummary]:
    return [replace(cell, output_tokens_per_s=pace[cell.arm] * (cell.concurrency or 1)) for cell in summaries(TPOT)]


def test_each_regime_has_its_own_arm() -> None:
    """One repeat: 2 % assumed, Student's t of 4 degrees of freedom, so that 34.9 / 27.8 may be 1.19 to 1.33."""
    found = regimes(compared(with_throughput({"w8a8": 9.6, "w4a16": 10.4})))

    assert {name: regime.arm for name, regime in found.items()} == {
        "low_load": "w4a16",
        "high_load_latency": "w8a8",
        "high_load_throughput": "w4a16",
    }
    assert found["low_load"].text == "w4a16: median TPOT 27.8 at 1 concurrent request, 26% ahead of w8a8 (19% to 33%)"
    assert (found["high_load_latency"].metric, found["high_load_latency"].load) == ("tpot_ms.p99", 100)
    assert found["high_load_throughput"].lead == pytest.approx(10.4 / 9.6 - 1)


def test_arms_within_the_margin_are_not_told_apart() -> None:
    found = regimes(compared(with_throughput({"w8a8": 10.0, "w4a16": 10.2})))["high_load_throughput"]

    assert (found.arm, found.level_with) == ("w4a16", ("w8a8",))
    assert found.text.endswith("not told apart from w8a8")


def test_the_studys_slo_decides_where_there_is_one() -> None:
    held = (SloCapacity("w8a8", 0.99, 80, 70, 90, False), SloCapacity("w4a16", 0.99, 40, 35, 45, False))

    found = regimes(compared(summaries(TPOT), slo_capacities=held))["high_load_latency"]

    assert (found.arm, found.load, found.lead) == ("w8a8", 80, 1.0)
    assert found.text == (
        "w8a8 holds the SLO for 99% of its requests up to 80 (70 to 90) concurrent requests, w4a16 up to 40 (35 to 45)"
    )


def test_an_slo_that_nobody_holds_is_said_so() -> None:
    none = (SloCapacity("w8a8", 0.99, None, None, 1, False), SloCapacity("w4a16", 0.99, None, None, 1, False))

    found = regimes(compared(summaries(TPOT), slo_capacities=none))["high_load_latency"]

    assert found.arm is None
    assert found.text.startswith("No arm holds the SLO")


def test_latencies_that_disagree_leave_it_to_the_slo() -> None:
    cells = [
        replace(cell, ttft_ms=replace(cell.ttft_ms, p99=100.0 if cell.arm == "w4a16" else 900.0))
        for cell in summaries(TPOT)
    ]

    found = regimes(compared(cells))["high_load_latency"]

    assert found.arm is None
    assert found.text.startswith("It depends on the SLO")


def test_a_single_load_is_low_or_high_but_not_both() -> None:
    few = regimes(compared(summaries({"w8a8": {1: 34.9}, "w4a16": {1: 27.8}})))
    many = regimes(compared(summaries({"w8a8": {64: 50.0}, "w4a16": {64: 60.0}})))

    assert [few[name].arm for name in few] == ["w4a16", None, None]
    assert many["low_load"].arm is None
    assert many["high_load_latency"].arm == "w8a8"


def test_one_arm_alone_is_no_answer() -> None:
    assert compared(summaries({"w4a16": {1: 27.8}}), {"w4a16": ARMS["w4a16"]}) is None


@pytest.mark.parametrize(
    ("arrivals", "rate", "begins"),
    [
        ("gamma", 2.0, "chat with gamma arrivals"),
        ("gamma", None, "chat, "),
        ("poisson", 2.0, "chat, "),
        (None, 2.0, "chat, "),
    ],
)
def test_scope_names_arrivals_that_are_not_the_usual_ones(
    arrivals: str | None, rate: float | None, begins: str
) -> None:
    cells = [replace(cell, request_rate=rate, prompt_tokens=100) for cell in summaries(TPOT)]
    asked = {"traffic": {"kind": "chat"}, **({} if arrivals is None else {"arrivals": {"kind": arrivals}})}
    said = holds_for(replace(manifest(), study=asked), ARMS, cells)["traffic"]

    assert said is not None
    assert said.startswith(begins)


def test_scope_says_what_was_measured_and_null_what_nobody_told() -> None:
    found = compared(summaries(TPOT))

    assert found is not None
    assert found.holds_for["hardware"] == "NVIDIA L4"
    assert found.holds_for["engine"] == "vllm 0.25.1"
    assert found.holds_for["loads"] == "c1, c100"
    bare = {name: replace(each, facts={}, model=None) for name, each in ARMS.items()}
    silent = compared(summaries(TPOT), bare)
    assert silent is not None
    assert silent.holds_for["hardware"] is silent.holds_for["model"] is None


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ((1, 5, 23, 108, 512, 50, 73), "c1, c5, c23, c50, c73, c108, c512"),
        ((1, 5, 23, 108, 512, 50, 73, 89, 98), "c1 to c512 (9 loads)"),
        ((), None),
    ],
)
def test_loads_are_said_in_rising_order_and_many_by_their_range(loads: tuple[int, ...], said: str | None) -> None:
    cell = summaries(TPOT)[0]
    cells = [replace(cell, concurrency=load) for load in loads]

    assert holds_for(manifest(), ARMS, [*cells, *cells])["loads"] == said


def test_rates_are_said_in_rising_order_too() -> None:
    cell = replace(summaries(TPOT)[0], concurrency=None)
    cells = [replace(cell, request_rate=rate) for rate in (10.0, 2.5, 4.0)]

    assert holds_for(manifest(), ARMS, cells)["loads"] == "2.5/s, 4/s, 10/s"


def test_what_would_flip_it_names_the_crossing_the_room_and_causes() -> None:
    roomy = {name: replace(each, capacity=room(102_400, 100)) for name, each in ARMS.items()}
    short = {name: replace(each, capacity=room(600_000, 100)) for name, each in ARMS.items()}
    findings = [Finding("interpretation", "eager", "", (), "without it"), Finding("observed", "thin_tails", "")]

    bound, free = (compared(summaries(TPOT), arms, findings=findings) for arms in (roomy, short))

    assert bound is not None
    assert free is not None
    assert free.would_flip[0].startswith("the load: w8a8 and w4a16 trade places in median TPOT at ")
    assert any("requests of more than 6,000 tokens on average" in each for each in free.would_flip)
    assert not any("requests of more than" in each for each in bound.would_flip)
    assert free.would_flip[-1].startswith("CUDA graphs")
    assert free.not_known == ("what fewer bits cost in answers: measure quality beside speed", "eager: without it")


def test_the_value_named_is_the_median_that_tables_show() -> None:
    """The geometric mean, by which arms are ranked, is 150."""
    made = [summary("w8a8", 8, value, repeat) for repeat, value in enumerate((100.0, 225.0))]
    made += [summary("w4a16", 8, 50.0, repeat) for repeat in (0, 1)]

    found = regimes(compared(made))["high_load_throughput"]

    assert "output throughput 163 at 8 concurrent requests, " in found.text


def test_values_of_arms_that_met_different_repeats_are_said_to_be_adjusted() -> None:
    made = [summary("w8a8", 8, 100.0, 0), summary("w8a8", 8, 120.0, 1), summary("w4a16", 8, 50.0, 0)]

    found = regimes(compared(made))["high_load_throughput"]

    assert "at 8 concurrent requests (adjusted, as arms met different repeats), " in found.text
