"""What bits cost in answers: arms that are broken, that differ, that do not; and what could not be told."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, number
from whichbits.analyze.quality.judge import BROKEN
from whichbits.analyze.quality.measures import ArmQuality, Distance, FreeAnswers, Quality, Valued
from whichbits.analyze.summary import Finding
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, listed, phrase

_SIGNIFICANT = 0.05


def answers_broken(observed: Observed) -> Iterator[Finding]:
    """Name arms whose perplexity is out of all proportion: no quantisation that works does that."""
    for quality, arm in _arms(observed, "broken"):
        if arm.overall is None:
            continue
        text = phrase(
            "{arm} is broken as served: its perplexity is {perplexity}, that of {reference} "
            "{reference_perplexity}, on the same texts. Its speed is that of a model nobody would serve, so "
            "it is left out of what is recommended.",
            arm=arm.arm,
            perplexity=number(arm.overall.perplexity),
            reference=quality.reference,
            reference_perplexity=number(arm.overall.reference_perplexity),
        )
        lines = (
            *_told(arm.overall),
            *(phrase("{name}: {ratio}", name=name, ratio=_ratio(each)) for name, each in arm.domains),
        )
        settled = phrase("the checkpoint's scales and their order, its zero points, and the kernel, in another engine")
        limit = phrase(
            "broken is a perplexity of more than {value:g} times the reference's (gap {broken:.2f} nats)",
            value=2,
            broken=BROKEN,
        )
        yield Finding("observed", "quality_broken", text, (*lines, limit), settled)


def answers_differ(observed: Observed) -> Iterator[Finding]:
    """Say what each step away from the reference costs and buys."""
    trades = {} if observed.quality is None else {each.arm: each for each in observed.quality.trade_offs}
    for _, arm in _arms(observed, "differs"):
        if arm.overall is not None and arm.arm in trades:
            lines = (
                *_told(arm.overall),
                *(phrase("{name}: {ratio}", name=name, ratio=_ratio(each)) for name, each in arm.domains),
            )
            yield Finding("observed", "quality_price", trades[arm.arm].text, lines)


def answers_same(observed: Observed) -> Iterator[Finding]:
    """Name arms whose answers are the reference's, but for float noise."""
    for quality, arm in _arms(observed, "same"):
        noise = quality.noise
        if arm.overall is None or noise is None or noise.distance is None:
            continue
        text = phrase(
            "{arm} answers as {reference} does: log-probabilities differ by {typical_difference:.2g} nats a "
            "token, and those of {reference} asked twice by {typical_difference_2:.2g}.",
            arm=arm.arm,
            reference=quality.reference,
            typical_difference=arm.overall.typical_difference,
            typical_difference_2=noise.distance.typical_difference,
        )
        yield Finding("observed", "quality_same", text, _told(arm.overall))


def answers_drift(observed: Observed) -> Iterator[Finding]:
    """Name arms whose free answers are longer or shorter, end otherwise, or go round in circles more often."""
    for arm in () if observed.quality is None else observed.quality.arms:
        changes = [] if arm.answers is None else list(_drifts(arm.answers))
        if changes and arm.verdict != "reference" and observed.quality is not None:
            text = phrase(
                "Free answers of {arm} are not like those of {reference}: {names}.",
                arm=arm.arm,
                reference=observed.quality.reference,
                names=listed(changes),
            )
            yield Finding(
                "observed", "quality_length_drift", text, settled_by=phrase("more questions of your own traffic")
            )


def reference_quantised(observed: Observed) -> Iterator[Finding]:
    """Say that a wide reference holds narrow weights."""
    if observed.quality is not None and observed.quality.reference_note is not None:
        settled = phrase("the same study on the checkpoint as it was trained")
        yield Finding("observed", "quality_reference_quantised", observed.quality.reference_note, settled_by=settled)


def quality_not_told(observed: Observed) -> Iterator[Finding]:
    """Say which distances are not known: no likeliest tokens, no log-probabilities, texts that could not be paired."""
    if observed.quality is None:
        return
    arms = observed.quality.arms
    gaps = [arm.arm for arm in arms if arm.overall is not None and arm.overall.kl is None]
    silent = [arm.arm for arm in arms if arm.overall is None]
    unpaired = {arm.arm: arm.unpaired for arm in arms if arm.unpaired and arm.overall is not None}
    lines = [phrase("{arm}: {note}", arm=arm.arm, note=note) for arm in arms for note in arm.notes]
    if gaps:
        text = phrase(
            "Of {names} only each token's own log-probability is known: that gives the gap in cross-entropy; "
            "KL divergence and top-1 agreement need the likeliest tokens of each position.",
            names=listed(gaps),
        )
        settled = phrase("a server that tells them, as vLLM does with prompt_logprobs")
        yield Finding("unresolved", "quality_gap_only", text, tuple(lines), settled)
    if silent:
        text = phrase(
            "How likely texts are to {names} is not known: nothing was scored that the reference scored, too.",
            names=listed(silent),
        )
        settled = phrase("a server that gives log-probabilities of a prompt (prompt_logprobs, or echo with logprobs)")
        yield Finding("unresolved", "quality_unknown", text, tuple(lines), settled)
    if unpaired:
        text = phrase(
            "Texts are left out that the reference and {names} do not split, or did not score, alike.",
            names=listed(unpaired),
        )
        named = tuple(phrase("{arm}: {list}", arm=arm, list=joined(", ", names)) for arm, names in unpaired.items())
        yield Finding("unresolved", "quality_unpaired", text, (*named, *lines))


def _arms(observed: Observed, verdict: str) -> Iterator[tuple[Quality, ArmQuality]]:
    quality = observed.quality
    if quality is not None:
        yield from ((quality, arm) for arm in quality.arms if arm.verdict == verdict)


def _told(found: Distance) -> tuple[str, ...]:
    lines = [
        phrase(
            "all: {ratio}, {tokens} of {texts}",
            ratio=_ratio(found),
            tokens=amount(found.tokens, "token"),
            texts=amount(found.texts, "text"),
        )
    ]
    if found.kl is not None:
        lines.append(phrase("KL divergence at least {with_ends} nats a token", with_ends=_with_ends(found.kl, 3)))
    if found.agreement is not None:
        lines.append(phrase("top-1 agreement {with_ends}", with_ends=_with_ends(found.agreement, 4)))
    return tuple(lines)


def _ratio(found: Distance) -> str:
    return phrase(
        "perplexity {perplexity}, times {with_ends}",
        perplexity=number(found.perplexity),
        with_ends=_with_ends(found.perplexity_ratio, 4),
    )


def _with_ends(found: Valued, digits: int) -> str:
    between = (
        ""
        if found.low is None
        else phrase(" ({value} to {value_2})", value=f"{found.low:.{digits}g}", value_2=f"{found.high:.{digits}g}")
    )
    return phrase("{value}{between}", value=f"{found.value:.{digits}g}", between=between)


def _drifts(found: FreeAnswers) -> Iterator[str]:
    ratio = found.length_ratio
    if ratio is not None and ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high:
        yield phrase(
            "{value:.2f} times as long ({low:.2f} to {high:.2f})", value=ratio.value, low=ratio.low, high=ratio.high
        )
    if found.stopped_p < _SIGNIFICANT:
        yield phrase(
            "{stopped} of {questions} end by themselves, {reference_stopped} before",
            stopped=found.stopped,
            questions=found.questions,
            reference_stopped=found.reference_stopped,
        )
    if found.loops_p < _SIGNIFICANT:
        yield phrase(
            "{loops} of {questions} go round in circles, {reference_loops} before",
            loops=found.loops,
            questions=found.questions,
            reference_loops=found.reference_loops,
        )
