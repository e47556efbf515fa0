"""A handover is drawn where a crossing places it; elsewhere nobody is told apart, and it is said so."""

from tests.analyze.make_cell import summaries
from whichbits.analyze.answer.recommend import recommend
from whichbits.analyze.summary import Crossing, Crossover, CrossoverVerdict, Recommendation

LOADS = (1.0, 10.0, 100.0)
Intervals = tuple[tuple[float, float], ...]


def answered(
    first: tuple[float, ...], intervals: Intervals, verdict: CrossoverVerdict, crossings: tuple[Crossing, ...] = ()
) -> Recommendation:
    """Arm a takes ``first`` ms, b 10."""
    cells = summaries(
        {"a": {int(load): at for load, at in zip(LOADS, first, strict=True)}, "b": {int(load): 10.0 for load in LOADS}}
    )
    pair = Crossover(
        metric="tpot_ms.p50",
        arms=("a", "b"),
        verdict=verdict,
        crossings=crossings,
        leader_low_load="a" if verdict == "crosses" else None,
        leader_high_load="b" if verdict == "crosses" else None,
        load_unit="concurrency",
        loads=LOADS,
        ratios=tuple(at / 10 for at in first),
        ratio_intervals=intervals,
    )
    found = recommend(cells, ["a", "b"], "tpot_ms.p50", [pair])
    assert found is not None
    return found


def test_noise_does_not_make_arms_take_turns() -> None:
    found = answered((9.0, 12.0, 9.0), ((0.7, 1.2), (0.9, 1.5), (0.6, 1.4)), "noisy")

    assert len(found.ranges) == 1
    assert "not told apart from any other" in found.text


def test_a_resolved_crossing_appears_with_its_interval() -> None:
    found = answered((5.0, 9.0, 15.0), ((0.4, 0.6), (0.8, 1.1), (1.4, 1.6)), "crosses", (Crossing(18.0, 6.0, 40.0),))

    assert found.ranges == (("a", None, 18.0), ("b", 18.0, None))
    assert found.uncertain == ((6.0, 40.0),)
    assert found.undecided == (None,)


def test_a_crossing_that_may_be_anywhere_places_nothing() -> None:
    """a leads at 1 and b at 100 beyond doubt; in between either may."""
    found = answered((5.0, 9.0, 15.0), ((0.4, 0.6), (0.8, 1.1), (1.4, 1.6)), "crosses", (Crossing(18.0, 1.0, 100.0),))

    assert found.uncertain == (None,)
    assert found.undecided == ((1.0, 100.0),)
    assert found.stretches == ((("a",), None, 1.0), (("a", "b"), 1.0, 100.0), (("b",), 100.0, None))
    assert "a up to 1 concurrent requests, a or b (not told apart) from there to 100" in found.text
    assert "b at 100 (measured" in found.text


def test_every_load_at_which_a_leader_is_not_shown_to_lead_is_named_ahead_or_not() -> None:
    """At 1 a leads beyond doubt; at 10 it is ahead and may be behind; at 100 it is behind and may be ahead."""
    found = answered((5.0, 9.0, 10.4), ((0.4, 0.6), (0.8, 1.1), (0.9, 1.2)), "noisy")

    assert found.ranges == (("a", None, None),)
    assert found.level_with == ("b at 10 and 100",)
    assert "not told apart from b at 10 and 100" in found.text


def test_loads_next_to_each_other_are_told_as_a_range() -> None:
    cells = summaries({"a": dict.fromkeys((1, 2, 4, 8, 16), 9.0), "b": dict.fromkeys((1, 2, 4, 8, 16), 10.0)})
    loads = (1.0, 2.0, 4.0, 8.0, 16.0)
    doubt = (0.8, 1.01)
    pair = Crossover(
        metric="tpot_ms.p50",
        arms=("a", "b"),
        verdict="noisy",
        crossings=(),
        leader_low_load=None,
        leader_high_load=None,
        load_unit="concurrency",
        loads=loads,
        ratios=(0.9,) * 5,
        ratio_intervals=(doubt, doubt, doubt, (0.85, 0.95), doubt),
    )

    found = recommend(cells, ["a", "b"], "tpot_ms.p50", [pair])

    assert found is not None
    assert found.level_with == ("b at 1 to 4 and 16",)
