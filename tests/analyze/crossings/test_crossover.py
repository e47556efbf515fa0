"""Crossings are found where they are, and nowhere else."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.analyze.make_cell import summaries, summary
from tests.record.make_run import PowerLaw
from whichbits.analyze.answer.recommend import recommend
from whichbits.analyze.crossings.crossover import crossover
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.analyze.summary import CellSummary

LOADS = (1, 2, 4, 8, 16, 32, 64)
DECISIVE = 0.02 * 4.15
"""From one repeat: the assumed spread x the t of 4 degrees of freedom that leaves 5 % / 7 loads beyond it."""

curve = st.lists(st.floats(0.5, 2.0), min_size=len(LOADS), max_size=len(LOADS))


def two(first: dict[int, float], second: dict[int, float]) -> list[CellSummary]:
    return summaries({"a": first, "b": second})


def by_ratio(*ratios: float) -> list[CellSummary]:
    """Two arms whose ratio is given at loads 1, 2, 4 and so on."""
    loads = [2**step for step in range(len(ratios))]
    return two(dict(zip(loads, ratios, strict=True)), dict.fromkeys(loads, 1.0))


def crossing_loads(cells: list[CellSummary]) -> list[float]:
    return [crossing.load for crossing in crossover(cells, ("a", "b"), "tpot_ms.p50").crossings]


@settings(max_examples=60, deadline=None)
@given(at=st.floats(1.3, 50), slope=st.floats(0.1, 2), shared=st.floats(-1, 1), scale=st.floats(1e-3, 1e3))
def test_the_crossing_of_two_power_laws_is_recovered(at: float, slope: float, shared: float, scale: float) -> None:
    a, b = PowerLaw(scale, shared + slope), PowerLaw(scale * at**slope, shared)
    decisive = [load for load in LOADS if abs(math.log(a(load) / b(load))) > DECISIVE]
    assume(min(decisive) < at < max(decisive))

    found = crossover(two({n: a(n) for n in LOADS}, {n: b(n) for n in LOADS}), ("a", "b"), "tpot_ms.p50")

    assert [crossing.load for crossing in found.crossings] == [pytest.approx(at, rel=1e-6)]
    assert (found.verdict, found.leader_low_load, found.leader_high_load) == ("crosses", "a", "b")


@settings(max_examples=60, deadline=None)
@given(curve, curve, st.floats(1e-3, 1e3))
def test_neither_the_order_of_arms_nor_the_unit_matters(a: list[float], b: list[float], unit: float) -> None:
    cells = two(dict(zip(LOADS, a, strict=True)), dict(zip(LOADS, b, strict=True)))
    scaled = [summary(cell.arm, cell.concurrency or 0, (cell.tpot_ms.p50 or 0) * unit) for cell in cells]

    found = crossover(cells, ("a", "b"), "tpot_ms.p50")
    swapped = crossover(cells, ("b", "a"), "tpot_ms.p50")
    rescaled = crossover(scaled, ("a", "b"), "tpot_ms.p50")

    assert [crossing.load for crossing in swapped.crossings] == pytest.approx(crossing_loads(cells))
    assert [1 / ratio for ratio in swapped.ratios] == pytest.approx(found.ratios)
    assert swapped.leader_low_load == found.leader_low_load
    logs = [abs(math.log(ratio)) for ratio in found.ratios]
    assume(all(abs(log - DECISIVE) > 1e-3 for log in logs))
    # Between exact ties rounding chooses, and it rounds otherwise in another unit.
    assume(all(after - before > 1e-9 for before, after in pairwise(sorted(logs))))
    assert rescaled.verdict == found.verdict
    assert crossing_loads(scaled) == pytest.approx(crossing_loads(cells), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(curve, st.lists(st.floats(0.5, 1 / 1.09), min_size=len(LOADS), max_size=len(LOADS)))
def test_an_arm_that_always_leads_crosses_nowhere(values: list[float], ratios: list[float]) -> None:
    ahead = {load: value * ratio for load, value, ratio in zip(LOADS, values, ratios, strict=True)}

    found = crossover(two(ahead, dict(zip(LOADS, values, strict=True))), ("a", "b"), "tpot_ms.p50")

    assert (found.verdict, found.crossings) == ("none", ())
    assert found.leader_low_load == found.leader_high_load == "a"


@pytest.mark.parametrize(
    ("ratios", "loads"),
    [
        ((0.5, 2.0), [math.sqrt(2)]),
        ((0.5, 1.0, 2.0), [2]),
        ((0.5, 1.0, 1.0, 2.0), [math.sqrt(8)]),
        ((0.5, 1.01, 0.99, 2.0), [math.sqrt(8)]),
        ((0.5, 2.0, 0.5), [math.sqrt(2), math.sqrt(8)]),
        ((0.5, 1.0, 0.5), []),
        ((0.5, 1.025, 0.5), []),
        ((1.0, 0.5), []),
    ],
    ids=[
        "between two loads",
        "at a load",
        "a level stretch",
        "a wiggle within the margin",
        "there and back",
        "a touch",
        "a touch within the margin",
        "level at first",
    ],
)
def test_known_crossings(ratios: tuple[float, ...], loads: list[float]) -> None:
    assert crossing_loads(by_ratio(*ratios)) == pytest.approx(loads, rel=0.02)


def repeated(*ratios: float, repeats: int, spread: float) -> list[CellSummary]:
    """Two arms whose ratio at loads 1, 2, 4 and so on differs from repeat to repeat by ``spread``."""
    return [
        summary(arm, 2**step, value, repeat)
        for step, ratio in enumerate(ratios)
        for repeat in range(repeats)
        for arm, value in (("a", ratio * (1 + spread) ** (-1 if (repeat + step) % 2 else 1)), ("b", 1.0))
    ]


def test_arms_shown_to_be_within_the_margin_at_every_load_tie() -> None:
    found = crossover(repeated(1.01, 0.995, 1.0, repeats=6, spread=0.004), ("a", "b"), "tpot_ms.p50")

    assert (found.verdict, found.leader_low_load, found.crossings, found.repeats_needed) == ("tie", None, (), None)


def test_arms_that_look_alike_once_are_not_shown_to_be_alike() -> None:
    found = crossover(by_ratio(1.01, 0.995, 1.0), ("a", "b"), "tpot_ms.p50")

    assert (found.verdict, found.leader_low_load) == ("noisy", None)
    assert found.spread_assumed
    assert found.repeats_needed is not None


def test_the_repeats_asked_for_settle_it_if_the_estimates_stay() -> None:
    ratios, spread = (0.9, 0.96, 1.06), 0.05
    noisy = crossover(repeated(*ratios, repeats=2, spread=spread), ("a", "b"), "tpot_ms.p50")
    assert noisy.repeats_needed is not None
    enough = 2 * math.ceil((2 + noisy.repeats_needed) / 2)

    assert noisy.verdict == "noisy"
    assert crossover(repeated(*ratios, repeats=enough, spread=spread), ("a", "b"), "tpot_ms.p50").verdict == "crosses"


def test_a_lead_that_may_be_lost_within_the_noise_is_no_proof_of_no_crossing() -> None:
    found = crossover(by_ratio(0.5, 0.7, 0.99), ("a", "b"), "tpot_ms.p50")

    assert (found.verdict, found.leader_low_load) == ("noisy", "a")


def test_the_lead_is_given_at_both_ends_with_its_interval() -> None:
    found = crossover(repeated(0.8, 1.0, 1.25, repeats=4, spread=0.01), ("a", "b"), "tpot_ms.p50")
    low, high = found.lead

    assert [(lead.load, lead.arm) for lead in found.lead] == [(1, "a"), (4, "b")]
    assert [lead.by for lead in found.lead] == pytest.approx([0.25, 0.25], rel=1e-6)
    assert 0.2 < low.low < low.by < low.high < 0.3
    assert found.ratio_intervals[0] == pytest.approx((1 / (1 + low.high), 1 / (1 + low.low)))
    assert high.high == pytest.approx(low.high)


def test_more_throughput_is_better() -> None:
    found = crossover(by_ratio(0.5, 2.0), ("a", "b"), "output_tokens_per_s")

    assert (found.leader_low_load, found.leader_high_load) == ("b", "a")


def test_an_arm_without_any_good_request_is_behind_and_two_such_arms_are_not_compared() -> None:
    good = {("a", 1): 9.0, ("a", 2): 5.0, ("a", 4): 0.0, ("b", 1): 5.0, ("b", 2): 9.0, ("b", 4): 0.0}
    good |= {("a", 3): 0.0, ("b", 3): 8.0}
    cells = [
        replace(summary(arm, load, 1.0), goodput_requests_per_s=value, duration_s=10.0)
        for (arm, load), value in good.items()
    ]

    found = crossover(cells, ("a", "b"), "goodput_requests_per_s")

    assert list(found.loads) == [1, 2, 3]
    assert found.ratios[2] == pytest.approx(0.05 / 8)
    assert (found.leader_low_load, found.leader_high_load) == ("a", "b")
    answer = recommend(cells, ["a", "b"], "goodput_requests_per_s")
    assert answer is not None
    assert [arm for arm, _, _ in answer.ranges] == ["a", "b"]


def test_repeats_are_paired_and_averaged_in_log_space() -> None:
    cells = [summary("a", 1, 2.0), summary("a", 1, 8.0, repeat=1), summary("a", 1, 99.0, repeat=2)]
    cells += [summary("b", 1, 1.0), summary("b", 1, 1.0, repeat=1)]

    assert crossover(cells, ("a", "b"), "tpot_ms.p50").ratios == pytest.approx((4.0,))


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda cell: replace(cell, client_verdict="client_limited"),
        lambda cell: replace(cell, state="interrupted"),
        lambda cell: replace(cell, requests=100, failed=2),
    ],
    ids=["client limited", "interrupted", "failures"],
)
def test_a_cell_not_to_be_trusted_is_left_out_and_named(spoilt: Callable[[CellSummary], CellSummary]) -> None:
    cells = by_ratio(0.5, 0.6, 2.0)
    cells[2] = spoilt(cells[2])

    found = crossover(cells, ("a", "b"), "tpot_ms.p50")

    assert (found.verdict, found.loads) == ("none", (1, 2))
    assert "1 of 6 cells left out" in (found.note or "")


@pytest.mark.parametrize(
    ("cells", "leader", "note"),
    [(by_ratio(0.5), "a", "one load only"), (two({1: 1.0}, {2: 1.0}), None, "no load that both")],
)
def test_too_little_to_compare_is_said(cells: list[CellSummary], leader: str | None, note: str) -> None:
    found = crossover(cells, ("a", "b"), "tpot_ms.p50")

    assert (found.verdict, found.leader_low_load) == ("none", leader)
    assert note in (found.note or "")


def recommended(curves: dict[str, dict[int, float]]) -> tuple[tuple[str, float | None, float | None], ...]:
    answer = recommend(summaries(curves), list(curves), "tpot_ms.p50")
    assert answer is not None
    return answer.ranges


def test_three_arms_take_their_turns_at_the_pairwise_crossings() -> None:
    laws = {"w4a16": PowerLaw(6, 0.5), "w8a8": PowerLaw(9, 0.25), "bf16": PowerLaw(30, 0.0)}
    first, second = (9 / 6) ** 4, (30 / 9) ** 4
    loads = (1, 2, 4, 16, 64, 256)

    ranges = recommended({arm: {load: law(load) for load in loads} for arm, law in laws.items()})

    assert [arm for arm, _, _ in ranges] == ["w4a16", "w8a8", "bf16"]
    assert [low for _, low, _ in ranges] == [None, pytest.approx(first), pytest.approx(second)]
    assert [high for _, _, high in ranges] == [pytest.approx(first), pytest.approx(second), None]


def test_noise_within_the_margin_does_not_make_arms_take_turns() -> None:
    assert recommended({"a": {1: 1.0, 2: 1.01, 4: 1.0, 8: 1.0}, "b": {1: 1.01, 2: 1.0, 4: 1.01, 8: 3.0}}) == (
        ("a", None, None),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(curve, min_size=2, max_size=4))
def test_the_recommended_arm_is_never_beaten_by_more_than_the_margin(rows: list[list[float]]) -> None:
    values = {f"arm{i}": dict(zip(LOADS, row, strict=True)) for i, row in enumerate(rows)}

    ranges = recommended(values)

    for load in LOADS:
        best = min(curve[load] for curve in values.values())
        holders = [arm for arm, low, high in ranges if (low or 0) <= load <= (high or math.inf)]
        assert not ranges or min(values[arm][load] for arm in holders) <= best * (1 + MARGIN) * (1 + 1e-9)
    ends = [end for _, _, high in ranges for end in [high] if end is not None]
    assert ends == sorted(ends)


def test_the_answer_reads_as_a_sentence() -> None:
    answer = recommend(by_ratio(0.25, 0.5, 2.0, 4.0), ["a", "b", "lost"], "tpot_ms.p50")

    assert answer is not None
    assert answer.text == (
        "median TPOT: a up to about 2.8 concurrent requests, b beyond (compared at 1 to 8; no usable cells of lost)"
    )


def test_the_answer_names_the_loads_at_which_either_arm_may_be_the_better() -> None:
    cells = repeated(0.5, 0.8, 1.25, 2.0, repeats=3, spread=0.02)
    compared = [crossover(cells, ("a", "b"), "tpot_ms.p50")]

    answer = recommend(cells, ["a", "b"], "tpot_ms.p50", compared)

    assert answer is not None
    ((low, high),) = (interval for interval in answer.uncertain if interval)
    assert 2 < low < math.sqrt(8) < high < 4
    assert answer.text == (
        f"median TPOT: a up to 2.8 concurrent requests (either within {low:.1f} to {high:.1f}), b beyond "
        "(compared at 1 to 8)"
    )
