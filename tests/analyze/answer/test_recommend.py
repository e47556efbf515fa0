"""The answer names whom its arm was not told apart from, and calls one load one load."""

import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.answer.recommend import claim_of, recommend
from whichbits.analyze.summary import CellSummary, Crossover, Recommendation

SURE, UNSURE = ((0.4, 0.6), (0.4, 0.6)), ((0.4, 1.2), (0.4, 1.2))
Intervals = tuple[tuple[float, float], ...]


def cells(*loads: int) -> list[CellSummary]:
    return [summary(arm, load, value) for load in loads for arm, value in (("a", 5.0), ("b", 10.0), ("c", 20.0))]


def pair(arms: tuple[str, str], intervals: Intervals, loads: tuple[float, ...] = (1, 4)) -> Crossover:
    return Crossover(
        metric="tpot_ms.p50",
        arms=arms,
        verdict="none",
        crossings=(),
        leader_low_load=None,
        leader_high_load=None,
        load_unit="concurrency",
        loads=loads,
        ratios=(0.5,) * len(loads),
        ratio_intervals=intervals[: len(loads)],
    )


def text(crossovers: list[Crossover], loads: tuple[int, ...] = (1, 4)) -> str:
    answer = recommend(cells(*loads), ["a", "b", "c"], "tpot_ms.p50", crossovers)
    assert answer is not None
    return answer.text


def test_an_arm_that_leads_beyond_doubt_stands_alone() -> None:
    found = [pair(("a", "b"), SURE), pair(("a", "c"), SURE)]

    assert text(found) == "median TPOT: a throughout (compared at 1 to 4 concurrent requests)"


def test_a_lead_that_noise_could_make_names_the_other() -> None:
    found = [pair(("a", "b"), UNSURE), pair(("a", "c"), SURE)]

    assert "a (not told apart from b) throughout" in text(found)
    assert "a (not told apart from any other)" in text([pair(("a", "b"), UNSURE), pair(("a", "c"), UNSURE)])


def test_the_order_of_the_pair_does_not_matter() -> None:
    """By hand: b over a between 1/0.6 and 1/0.4."""
    turned = [pair(("b", "a"), ((1.67, 2.5), (1.67, 2.5))), pair(("a", "c"), SURE)]

    assert "not told apart" not in text(turned)


@pytest.mark.parametrize("loads", [(1,)])
def test_one_load_is_no_throughout(loads: tuple[int, ...]) -> None:
    found = [pair(("a", "b"), SURE, (1,)), pair(("a", "c"), SURE, (1,))]

    assert text(found, loads) == "median TPOT: a (compared at 1 concurrent request)"


def test_an_answer_says_of_which_loads_it_is_and_not_that_they_were_measured() -> None:
    """The words are the same of a prediction, whose numbers nobody measured."""
    pairs = [pair(("a", "b"), SURE, (2, 4)), pair(("a", "c"), SURE, (2, 4))]

    assert text(pairs, (2, 4)) == "median TPOT: a throughout (compared at 2 to 4 concurrent requests)"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Recommendation("tpot_ms.p50", (("a", None, 9.8), ("b", 9.8, None)), ""), "a up to about 9.8, b beyond"),
        (
            Recommendation("tpot_ms.p50", (("a", None, 9.8), ("b", 9.8, None)), "", uncertain=((9, 11),)),
            "a up to 9.8 (either within 9 to 11), b beyond",
        ),
        (
            Recommendation(
                "tpot_ms.p50",
                (("a", None, 8), ("b", 8, None)),
                "",
                stretches=((("a",), None, 4), (("a", "b"), 4, 16), (("b",), 16, None)),
                loads=(1, 4, 16),
            ),
            "a up to 4, a or b (not told apart) from there to 16, b at 16",
        ),
        (Recommendation("tpot_ms.p50", (("a", None, None),), "", loads=(4,)), "a"),
        (Recommendation("tpot_ms.p50", (("a", None, None),), "", loads=(4, 8)), "a throughout"),
        (Recommendation("tpot_ms.p50", (), ""), "no arm ahead by more than 3%"),
    ],
    ids=["estimated", "placed", "not told apart", "one load", "one arm", "none"],
)
def test_a_recorded_answer_is_said_again_with_what_places_its_handovers(answer: Recommendation, said: str) -> None:
    assert claim_of(answer) == said


def test_without_any_comparison_nothing_is_said_of_doubt() -> None:
    assert "told apart" not in text([])
