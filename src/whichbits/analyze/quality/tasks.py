"""Tasks, paired question by question with the reference's."""

from collections.abc import Iterator, Sequence

from whichbits.analyze.quality.intervals import mcnemar_p, paired_difference, share_interval
from whichbits.analyze.quality.measures import TaskQuality
from whichbits.quality.task_results import Scores


def compare_tasks(ours: Sequence[Scores], theirs: Sequence[Scores]) -> Iterator[TaskQuality]:
    """Yield each metric that both have, over the questions that both answered."""
    reference = {(scores.task, scores.metric): scores.right for scores in theirs}
    for scores in ours:
        right = reference.get((scores.task, scores.metric), {})
        pairs = [(scores.right[question], right[question]) for question in scores.right if question in right]
        if pairs:
            yield _compared(scores, pairs)


def _compared(scores: Scores, pairs: Sequence[tuple[bool, bool]]) -> TaskQuality:
    n, mine, other = len(pairs), sum(one for one, _ in pairs), sum(two for _, two in pairs)
    gained = sum(one and not two for one, two in pairs)
    lost = sum(two and not one for one, two in pairs)
    return TaskQuality(
        task=scores.task,
        metric=scores.metric,
        questions=n,
        share=share_interval(mine, n),
        reference_share=other / n,
        difference=paired_difference(gained, lost, n),
        recovery=mine / other if other else None,
        only_arm_right=gained,
        only_reference_right=lost,
        p_value=mcnemar_p(gained, lost),
    )
