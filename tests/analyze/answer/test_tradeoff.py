"""The price of each step, and who is on the front."""

from dataclasses import replace

import pytest

from tests.analyze.make_observed import arm as summary_of
from tests.analyze.quality.made import arm, distance, quality
from whichbits.analyze.answer.tradeoff import Candidates, front, with_trade_offs
from whichbits.analyze.quality.measures import Quality, Speed, TradeOff, Valued
from whichbits.analyze.summary import ArmSummary, Crossover, LoadUnit, Metric

LOADS = (1.0, 10.0, 100.0)


def sized(name: str, gib: float) -> ArmSummary:
    return replace(summary_of(name), weights_gib=gib)


def speeds(arms: tuple[str, str], *ratios: float, metric: Metric = "output_tokens_per_s") -> Crossover:
    """First over second at each load, with intervals of 1 % either way."""
    between = tuple((0.99 * ratio, 1.01 * ratio) for ratio in ratios)
    return Crossover(metric, arms, "crosses", (), None, None, "concurrency", LOADS, ratios, ratio_intervals=between)


def traded(found: Quality, *crossovers: Crossover, unit: LoadUnit = "concurrency", **gib: float) -> dict[str, TradeOff]:
    among = Candidates({name: sized(name, size) for name, size in gib.items()}, crossovers, unit)
    return {each.arm: each for each in with_trade_offs(found, among).trade_offs}


def test_the_price_of_a_step_is_a_sentence() -> None:
    found = traded(quality(arm("w4a16")), speeds(("bf16", "w4a16"), 0.5, 0.8, 1 / 0.87), bf16=14.0, w4a16=4.9)

    assert found["w4a16"].text == (
        "w4a16 against bf16: 0.35x the weights; -0.6 % agreement (perplexity +1.2 %) buys 2x at load 1 and costs 13 % "
        "at load 100."
    )
    assert [speed.load for speed in found["w4a16"].speeds] == [1.0, 100.0]
    assert found["w4a16"].speeds[0].ratio.value == pytest.approx(2.0)
    assert found["w4a16"].speeds[0].ratio.low == pytest.approx(2.0 / 1.01)
    assert found["bf16"].text == "bf16 is the reference."


def test_under_a_rate_the_pace_is_the_speed_and_less_is_faster() -> None:
    crossover = speeds(("w4a16", "bf16"), 0.5, 0.8, 1.25, metric="tpot_ms.p50")
    found = traded(quality(arm("w4a16")), crossover, unit="request_rate", bf16=14.0, w4a16=4.9)

    assert [speed.ratio.value for speed in found["w4a16"].speeds] == pytest.approx([2.0, 0.8])


def test_what_is_level_buys_nothing() -> None:
    found = traded(quality(arm("w8a8", "same")), speeds(("w8a8", "bf16"), 1.02, 1.0, 1.5))

    assert found["w8a8"].text == (
        "w8a8 against bf16: no difference in answers beyond float noise buys nothing at load 1 and 1.5x at load 100."
    )
    assert found["w8a8"].cost == 0.0


def test_a_gap_alone_is_a_price_in_perplexity() -> None:
    found = traded(quality(arm("w4a16", overall=distance(1.2, None, None))))

    assert found["w4a16"].text == "w4a16 against bf16: perplexity +20 %."
    assert found["w4a16"].cost == pytest.approx(0.1823, abs=1e-4)


def test_an_arm_that_is_worse_in_everything_is_off_the_front() -> None:
    others = (arm("w8a8", overall=distance(1.001, 0.001)), arm("w4a16"), arm("slow", overall=distance(1.05, 0.02)))
    crossovers = [
        speeds(("w8a8", "bf16"), 1.5, 1.5, 1.4),
        speeds(("w4a16", "bf16"), 2.0, 1.2, 0.9),
        speeds(("slow", "bf16"), 1.4, 1.0, 0.8),
    ]
    found = traded(quality(*others), *crossovers, bf16=14.0, w8a8=7.0, w4a16=4.0, slow=7.0)

    assert {name: each.on_front for name, each in found.items()} == {
        "bf16": True,
        "w8a8": True,
        "w4a16": True,
        "slow": False,
    }


def test_a_broken_arm_is_never_on_the_front_and_takes_nobodys_place() -> None:
    fast = [speeds(("broken", "bf16"), 3.0, 3.0, 3.0), speeds(("w8a8", "bf16"), 1.5, 1.5, 1.5)]
    found = traded(quality(arm("broken", "broken", distance(900.0)), arm("w8a8")), *fast, bf16=14, broken=4, w8a8=7)

    assert (found["broken"].on_front, found["w8a8"].on_front) == (False, True)
    assert found["broken"].text == "broken against bf16: broken, whatever its size and speed."


def test_an_axis_that_one_arm_lacks_does_not_count() -> None:
    known = TradeOff("a", 4.0, 0.5, (Speed(1.0, Valued(2.0, None, None)),), 0.1, None, "")
    unmeasured = TradeOff("b", 4.0, 0.5, (), 0.05, None, "")

    assert front([known, unmeasured]) == {"a": False, "b": True}
    assert front([TradeOff("c", None, None, (), None, None, "")]) == {"c": None}


def test_a_size_that_no_log_tells_is_that_of_the_checkpoint() -> None:
    silent = {name: replace(summary_of(name, total_bytes=2**31), weights_gib=None) for name in ("bf16", "w4a16")}
    found = with_trade_offs(quality(arm("w4a16")), Candidates(silent, (), "concurrency"))

    assert [each.size_gib for each in found.trade_offs] == [2.0, 2.0]
