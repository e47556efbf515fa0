"""Free answers: where they part, how long they are, and whether they go round in circles."""

import pytest

from whichbits.analyze.quality.free_answers import compare_answers, loops_at_end
from whichbits.quality.asked import FreeAnswer


def answer(name: str, tokens: str, finish: str = "stop") -> FreeAnswer:
    return FreeAnswer(name, 0, tuple(tokens), tokens, finish)


def test_answers_are_paired_by_question() -> None:
    reference = [answer("a", "abcd"), answer("b", "abcdef"), answer("c", "xy"), answer("unanswered", "z")]
    arm = [answer("c", "xyz"), answer("b", "abXdef", "length"), answer("a", "abcd")]
    found = compare_answers(arm, reference)

    assert found is not None
    assert (found.questions, found.identical) == (3, 1)
    assert found.first_divergence is not None
    assert found.first_divergence.value == 2.0
    assert found.shared_share.value == pytest.approx((1 + 2 / 6 + 2 / 3) / 3)
    assert found.length_ratio is not None
    assert found.length_ratio.value == pytest.approx(13 / 12)
    assert (found.stopped, found.reference_stopped, found.stopped_p) == (2, 3, 1.0)


def test_an_arm_that_never_stops_is_told_apart() -> None:
    reference = [answer(str(at), f"answer {at}") for at in range(12)]
    arm = [answer(str(at), f"answer {at}" + "again " * 20, "length") for at in range(12)]
    found = compare_answers(arm, reference)

    assert found is not None
    assert found.stopped_p == found.loops_p == pytest.approx(2 / 2**12)
    assert (found.loops, found.reference_loops) == (12, 0)
    assert found.length_ratio is not None
    assert found.length_ratio.low is not None
    assert found.length_ratio.low > 10


def test_answers_to_other_questions_are_not_compared() -> None:
    assert compare_answers([answer("a", "x")], [answer("b", "x")]) is None


@pytest.mark.parametrize(
    ("tokens", "loops"),
    [
        ("the end." + "ab" * 12, True),
        ("x" * 24, True),
        ("x" * 23, False),
        ("once upon a time there was a fox who was afraid of the dark", False),
        ("1234567890abcdefghij" * 3, True),
        ("1234567890abcdefghij" * 2, False),
        ("ab" * 30 + "the end", False),
        ("", False),
    ],
)
def test_loops_at_the_end(tokens: str, loops: bool) -> None:
    assert loops_at_end(tuple(tokens)) is loops
