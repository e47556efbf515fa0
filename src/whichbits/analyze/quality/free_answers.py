"""Free answers against the reference's: where they part, how long they are, whether they end or go round in circles."""

from collections.abc import Mapping, Sequence

from whichbits.analyze.quality.intervals import (
    mcnemar_p,
    mean_share,
    median_interval,
    ratio_interval,
    share_interval,
)
from whichbits.analyze.quality.measures import FreeAnswers
from whichbits.quality.asked import FreeAnswer

LONGEST_PERIOD = 40
LEAST_ROUNDS = 3
LEAST_LOOP = 24
"""Tokens that go round, at least: shorter runs occur in tables and lists."""


def compare_answers(arm: Sequence[FreeAnswer], reference: Sequence[FreeAnswer]) -> FreeAnswers | None:
    """Pair answers by question; None if there are none in common."""
    mine = {answer.name: answer for answer in arm}
    pairs = [(mine[answer.name], answer) for answer in reference if answer.name in mine]
    if not pairs:
        return None
    shared = [shared_tokens(ours.tokens, theirs.tokens) for ours, theirs in pairs]
    lengths = [(len(ours.tokens), len(theirs.tokens)) for ours, theirs in pairs]
    differ = [at for at, (ours, theirs) in zip(shared, pairs, strict=True) if ours.tokens != theirs.tokens]
    stops = [(ours.finish_reason == "stop", theirs.finish_reason == "stop") for ours, theirs in pairs]
    loops = [(loops_at_end(ours.tokens), loops_at_end(theirs.tokens)) for ours, theirs in pairs]
    total = sum(theirs for _, theirs in lengths)
    return FreeAnswers(
        questions=len(pairs),
        identical=len(pairs) - len(differ),
        identical_share=share_interval(len(pairs) - len(differ), len(pairs)),
        shared_share=mean_share([at / max(*length, 1) for at, length in zip(shared, lengths, strict=True)]),
        first_divergence=median_interval(differ) if differ else None,
        mean_tokens=sum(ours for ours, _ in lengths) / len(pairs),
        reference_mean_tokens=total / len(pairs),
        length_ratio=None if not total else ratio_interval(*_columns(lengths), [""] * len(pairs), lowest=0.0),
        stopped=sum(ours for ours, _ in stops),
        reference_stopped=sum(theirs for _, theirs in stops),
        stopped_p=_changed(stops),
        loops=sum(ours for ours, _ in loops),
        reference_loops=sum(theirs for _, theirs in loops),
        loops_p=_changed(loops),
    )


def identical(answers: Sequence[FreeAnswer], again: Sequence[FreeAnswer]) -> int:
    """Return how many questions were answered the same both times."""
    before: Mapping[str, FreeAnswer] = {answer.name: answer for answer in answers}
    return sum(each.name in before and before[each.name].tokens == each.tokens for each in again)


def shared_tokens(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many tokens stand before the first difference."""
    for at, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return at
    return min(len(ours), len(theirs))


def loops_at_end(tokens: Sequence[str]) -> bool:
    """Say whether an answer's end repeats itself: at least three rounds, and 24 tokens, of up to 40 tokens each."""
    for period in range(1, min(LONGEST_PERIOD, len(tokens) // LEAST_ROUNDS) + 1):
        length = max(LEAST_LOOP, LEAST_ROUNDS * period)
        end = tokens[-length:]
        if len(end) == length and all(end[at] == end[at - period] for at in range(period, length)):
            return True
    return False


def _columns(lengths: Sequence[tuple[int, int]]) -> tuple[list[float], list[float]]:
    return [float(ours) for ours, _ in lengths], [float(theirs) for _, theirs in lengths]


def _changed(pairs: Sequence[tuple[bool, bool]]) -> float:
    return mcnemar_p(
        sum(ours and not theirs for ours, theirs in pairs), sum(theirs and not ours for ours, theirs in pairs)
    )
