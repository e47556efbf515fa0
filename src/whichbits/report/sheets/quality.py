"""What bits cost in answers: distances, domains, free answers, tasks, the worst positions, and the trade-offs."""

from collections.abc import Iterator

from whichbits.analyze.quality.measures import ArmQuality, Distance, Quality, QualityVerdict, TradeOff, Valued
from whichbits.analyze.summary import Summary
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text, short_load

_LARGE = 10
_VERDICTS: dict[QualityVerdict, str] = {
    "reference": phrase("reference"),
    "same": phrase("same"),
    "differs": phrase("differs"),
    "broken": phrase("broken"),
    "unknown": phrase("unknown"),
}
_LOWER_BOUND = phrase("KL is a lower bound: tokens beyond the likeliest ones are one bucket.")


def distances(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm a row, over all texts."""
    rows = [
        (arm.arm, _VERDICTS[arm.verdict], *_distance(arm.overall)) for arm in _arms(summary) if arm.overall is not None
    ]
    if not rows:
        return None
    return Sheet(
        name="quality-arms",
        title=phrase("Distance to the reference"),
        meaning=phrase("Over texts scored token by token, 95 % intervals by text. {bound}", bound=_LOWER_BOUND),
        headings=(
            phrase("arm"),
            phrase("verdict"),
            phrase("tokens"),
            phrase("perplexity"),
            phrase("times the reference's"),
            phrase("KL (nats)"),
            phrase("top-1 agreement"),
        ),
        rows=tuple(rows),
        words=2,
    )


def by_domain(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm and domain a row."""
    rows = [
        (arm.arm, domain, *_distance(found))
        for arm in _arms(summary)
        if arm.verdict != "reference"
        for domain, found in arm.domains
    ]
    if not rows:
        return None
    return Sheet(
        name="quality-domains",
        title=phrase("By domain"),
        meaning=phrase("The same, domain by domain: few texts each, so wide intervals."),
        headings=(
            phrase("arm"),
            phrase("domain"),
            phrase("tokens"),
            phrase("perplexity"),
            phrase("times the reference's"),
            phrase("KL (nats)"),
            phrase("top-1 agreement"),
        ),
        rows=tuple(rows),
        words=2,
    )


def free_answers(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm a row: answers that were free to end."""
    rows = [(arm.arm, *_answers(arm)) for arm in _arms(summary) if arm.answers is not None]
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
            _share(task.share),
            share_text(task.reference_share),
            _points(task.difference),
            share_text(task.recovery),
            f"{task.p_value:.2g}",
        )
        for arm in _arms(summary)
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


def worst_positions(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a token a row."""
    rows = [
        (
            arm.arm,
            phrase("{text} at {position}", text=each.text, position=each.position),
            phrase("… {before}", before=each.before),
            each.token or MISSING,
            number(each.gap),
        )
        for arm in _arms(summary)
        for each in arm.worst
    ]
    if not rows:
        return None
    return Sheet(
        name="quality-worst",
        title=phrase("Where it hurts most"),
        meaning=phrase("The tokens that an arm finds least likely in comparison, with what stands before them."),
        headings=(phrase("arm"), phrase("text"), phrase("before"), phrase("token"), phrase("nats lost")),
        rows=tuple(rows),
        words=4,
    )


def trade_offs(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm a row: size, speed and answers, and whether another arm beats it in everything."""
    found = () if summary.quality is None else summary.quality.trade_offs
    if not found or summary.quality is None:
        return None
    return Sheet(
        name="quality-trade-offs",
        title=phrase("Size, speed and answers"),
        meaning=phrase(
            "Against the reference. On the front: no other arm is at least as good in all three and better in one."
        ),
        headings=(
            phrase("arm"),
            phrase("on the front"),
            phrase("weights GiB"),
            phrase("times"),
            phrase("speed at low load"),
            phrase("at high load"),
            phrase("nats lost"),
        ),
        rows=tuple(_trade(each) for each in found),
        words=2,
    )


SHEETS = (trade_offs, distances, by_domain, free_answers, task_scores, worst_positions)


def sentences(summary: Summary) -> Iterator[str]:
    """Yield what is to be said before the tables."""
    quality = summary.quality
    if quality is None:
        return
    yield from (each.text for each in quality.trade_offs if each.arm != quality.reference)
    yield from _noise(quality)
    if quality.reference_note is not None:
        yield quality.reference_note


def _noise(quality: Quality) -> Iterator[str]:
    noise = quality.noise
    if noise is None:
        yield phrase(
            "The reference {reference} was not asked: distances to it are not known.", reference=quality.reference
        )
        return
    parts = []
    if noise.distance is not None:
        kl = noise.distance.kl
        parts.append(
            phrase(
                "log-probabilities differ by {typical_difference:.2g} nats a token",
                typical_difference=noise.distance.typical_difference,
            )
        )
        parts += (
            []
            if noise.largest_difference is None
            else [phrase("{largest_difference:.2g} at most", largest_difference=noise.largest_difference)]
        )
        parts += [] if kl is None else [phrase("KL is {value:.2g}", value=kl.value)]
    if noise.answers:
        parts.append(
            phrase(
                "{identical_answers} of {answers} the same",
                identical_answers=noise.identical_answers,
                answers=amount(noise.answers, "answer"),
            )
        )
    if parts:
        yield phrase(
            "Noise: {reference} asked twice: {list}. Up to twice that, a difference is none.",
            reference=quality.reference,
            list=joined(", ", parts),
        )


def _arms(summary: Summary) -> tuple[ArmQuality, ...]:
    return () if summary.quality is None else summary.quality.arms


def _distance(found: Distance | None) -> tuple[str, ...]:
    if found is None:
        return (MISSING,) * 5
    ratio = found.perplexity_ratio
    return (
        str(found.tokens),
        number(found.perplexity),
        _between(ratio, "{:.4f}" if ratio.value < _LARGE else "{:.3g}"),
        MISSING if found.kl is None else _between(found.kl, "{:.3g}"),
        MISSING if found.agreement is None else _share(found.agreement),
    )


def _answers(arm: ArmQuality) -> tuple[str, ...]:
    found = arm.answers
    if found is None:
        return (MISSING,) * 7
    first, ratio = found.first_divergence, found.length_ratio
    return (
        str(found.questions),
        str(found.identical),
        MISSING if first is None else _between(first, "{:.0f}"),
        number(found.mean_tokens),
        MISSING if ratio is None else _between(ratio, "{:.2f}"),
        phrase("{stopped} ({reference_stopped})", stopped=found.stopped, reference_stopped=found.reference_stopped),
        phrase("{loops} ({reference_loops})", loops=found.loops, reference_loops=found.reference_loops),
    )


def _trade(each: TradeOff) -> tuple[str, ...]:
    speeds = [
        phrase("{between} at {load}", between=_between(s.ratio, "{:.2f}"), load=short_load(s.load)) for s in each.speeds
    ]
    low, high = (speeds[0], speeds[-1]) if speeds else (MISSING, MISSING)
    return (
        each.arm,
        {True: phrase("yes"), False: phrase("no"), None: MISSING}[each.on_front],
        number(each.size_gib),
        number(each.size_ratio),
        low,
        high if len(speeds) > 1 else MISSING,
        MISSING if each.cost is None else f"{each.cost:.3g}",
    )


def _share(found: Valued) -> str:
    ends = (
        ""
        if found.low is None or found.high is None
        else phrase(" ({low} to {high})", low=share_text(found.low), high=share_text(found.high))
    )
    return phrase("{value}{ends}", value=share_text(found.value), ends=ends)


def _points(found: Valued) -> str:
    ends = (
        ""
        if found.low is None or found.high is None
        else phrase(" ({low:+.1f} to {high:+.1f})", low=100 * found.low, high=100 * found.high)
    )
    return phrase("{value:+.1f}{ends}", value=100 * found.value, ends=ends)


def _between(found: Valued, layout: str) -> str:
    exact = found.low == found.high
    ends = (
        ""
        if exact
        else phrase(" ({format} to {format_2})", format=layout.format(found.low), format_2=layout.format(found.high))
    )
    return phrase("{format}{ends}", format=layout.format(found.value), ends=ends)
