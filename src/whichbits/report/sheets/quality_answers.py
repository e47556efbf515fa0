"""What bits cost in whole answers: those that were free to end, and tasks with a right answer."""

from whichbits.analyze.quality.measures import ArmQuality
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.sheets.valued import between, points, share_of
from whichbits.report.wording import MISSING, number, share_text


def free_answers(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm a row: answers that were free to end."""
    rows = [(arm.arm, *_answers(arm)) for arm in arms_of(summary) if arm.answers is not None]
    if not rows:
        return None
    return Sheet(
        name="quality-answers",
        title=phrase("Free answers"),
        meaning=phrase(
            "Greedy answers that end as they like, against the reference's: the same to the last token, "
            "tokens before the first difference (median), length, how many end by themselves, and how many "
            "end in a loop."
        ),
        headings=(
            phrase("arm"),
            phrase("answers"),
            phrase("identical"),
            phrase("first difference"),
            phrase("tokens"),
            phrase("length ratio"),
            phrase("ended"),
            phrase("loops"),
        ),
        rows=tuple(rows),
    )


def task_scores(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a task and arm a row."""
    rows = [
        (
            arm.arm,
            phrase("{task}: {metric}", task=task.task, metric=task.metric),
            str(task.questions),
            share_of(task.share),
            share_text(task.reference_share),
            points(task.difference),
            share_text(task.recovery),
            f"{task.p_value:.2g}",
        )
        for arm in arms_of(summary)
        for task in arm.tasks
    ]
    if not rows:
        return None
    return Sheet(
        name="quality-tasks",
        title=phrase("Tasks"),
        meaning=phrase(
            "By lm-eval, paired question by question: points of difference, recovery as people quote it, and "
            "the exact McNemar test. A large p says that this many questions cannot tell, not that nothing "
            "is lost."
        ),
        headings=(
            phrase("arm"),
            phrase("task"),
            phrase("questions"),
            phrase("right"),
            phrase("reference"),
            phrase("points"),
            phrase("recovery"),
            phrase("p"),
        ),
        rows=tuple(rows),
        words=2,
    )


def arms_of(summary: Summary) -> tuple[ArmQuality, ...]:
    """Return the arms whose quality was asked for; none where it was not."""
    return () if summary.quality is None else summary.quality.arms


def _answers(arm: ArmQuality) -> tuple[str, ...]:
    found = arm.answers
    if found is None:
        return (MISSING,) * 7
    first, ratio = found.first_divergence, found.length_ratio
    return (
        str(found.questions),
        str(found.identical),
        MISSING if first is None else between(first, "{:.0f}"),
        number(found.mean_tokens),
        MISSING if ratio is None else between(ratio, "{:.2f}"),
        phrase("{stopped} ({reference_stopped})", stopped=found.stopped, reference_stopped=found.reference_stopped),
        phrase("{loops} ({reference_loops})", loops=found.loops, reference_loops=found.reference_loops),
    )
