"""What bits cost in answers: arms that are broken, that differ, that do not; and what could not be told."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, listed, number
from whichbits.analyze.quality.judge import BROKEN
from whichbits.analyze.quality.measures import ArmQuality, Distance, FreeAnswers, Quality, Valued
from whichbits.analyze.summary import Finding

_SIGNIFICANT = 0.05


def answers_broken(observed: Observed) -> Iterator[Finding]:
    """Name arms whose perplexity is out of all proportion: no quantisation that works does that."""
    for quality, arm in _arms(observed, "broken"):
        if arm.overall is None:
            continue
        text = (
            f"{arm.arm} is broken as served: its perplexity is {number(arm.overall.perplexity)}, that of "
            f"{quality.reference} {number(arm.overall.reference_perplexity)}, on the same texts. Its speed is that "
            f"of a model nobody would serve, so it is left out of what is recommended."
        )
        lines = (*_told(arm.overall), *(f"{name}: {_ratio(each)}" for name, each in arm.domains))
        settled = "the checkpoint's scales and their order, its zero points, and the kernel, in another engine"
        limit = f"broken is a perplexity of more than {2:g} times the reference's (gap {BROKEN:.2f} nats)"
        yield Finding("observed", "quality_broken", text, (*lines, limit), settled)


def answers_differ(observed: Observed) -> Iterator[Finding]:
    """Say what each step away from the reference costs and buys."""
    trades = {} if observed.quality is None else {each.arm: each for each in observed.quality.trade_offs}
    for _, arm in _arms(observed, "differs"):
        if arm.overall is not None and arm.arm in trades:
            lines = (*_told(arm.overall), *(f"{name}: {_ratio(each)}" for name, each in arm.domains))
            yield Finding("observed", "quality_price", trades[arm.arm].text, lines)


def answers_same(observed: Observed) -> Iterator[Finding]:
    """Name arms whose answers are the reference's, but for float noise."""
    for quality, arm in _arms(observed, "same"):
        noise = quality.noise
        if arm.overall is None or noise is None or noise.distance is None:
            continue
        text = (
            f"{arm.arm} answers as {quality.reference} does: log-probabilities differ by "
            f"{arm.overall.typical_difference:.2g} nats a token, and those of {quality.reference} asked twice by "
            f"{noise.distance.typical_difference:.2g}."
        )
        yield Finding("observed", "quality_same", text, _told(arm.overall))


def answers_drift(observed: Observed) -> Iterator[Finding]:
    """Name arms whose free answers are longer or shorter, end otherwise, or go round in circles more often."""
    for arm in () if observed.quality is None else observed.quality.arms:
        changes = [] if arm.answers is None else list(_drifts(arm.answers))
        if changes and arm.verdict != "reference" and observed.quality is not None:
            text = f"Free answers of {arm.arm} are not like those of {observed.quality.reference}: {listed(changes)}."
            yield Finding("observed", "quality_length_drift", text, settled_by="more questions of your own traffic")


def reference_quantised(observed: Observed) -> Iterator[Finding]:
    """Say that a wide reference holds narrow weights."""
    if observed.quality is not None and observed.quality.reference_note is not None:
        settled = "the same study on the checkpoint as it was trained"
        yield Finding("observed", "quality_reference_quantised", observed.quality.reference_note, settled_by=settled)


def quality_not_told(observed: Observed) -> Iterator[Finding]:
    """Say which distances are not known: no likeliest tokens, no log-probabilities, texts that could not be paired."""
    if observed.quality is None:
        return
    arms = observed.quality.arms
    gaps = [arm.arm for arm in arms if arm.overall is not None and arm.overall.kl is None]
    silent = [arm.arm for arm in arms if arm.overall is None]
    unpaired = {arm.arm: arm.unpaired for arm in arms if arm.unpaired and arm.overall is not None}
    lines = [f"{arm.arm}: {note}" for arm in arms for note in arm.notes]
    if gaps:
        text = (
            f"Of {listed(gaps)} only each token's own log-probability is known: that gives the gap in cross-entropy; "
            f"KL divergence and top-1 agreement need the likeliest tokens of each position."
        )
        settled = "a server that tells them, as vLLM does with prompt_logprobs"
        yield Finding("unresolved", "quality_gap_only", text, tuple(lines), settled)
    if silent:
        text = (
            f"How likely texts are to {listed(silent)} is not known: nothing was scored that the reference scored, too."
        )
        settled = "a server that gives log-probabilities of a prompt (prompt_logprobs, or echo with logprobs)"
        yield Finding("unresolved", "quality_unknown", text, tuple(lines), settled)
    if unpaired:
        text = f"Texts are left out that the reference and {listed(unpaired)} do not split, or did not score, alike."
        named = tuple(f"{arm}: {', '.join(names)}" for arm, names in unpaired.items())
        yield Finding("unresolved", "quality_unpaired", text, (*named, *lines))


def _arms(observed: Observed, verdict: str) -> Iterator[tuple[Quality, ArmQuality]]:
    quality = observed.quality
    if quality is not None:
        yield from ((quality, arm) for arm in quality.arms if arm.verdict == verdict)


def _told(found: Distance) -> tuple[str, ...]:
    lines = [f"all: {_ratio(found)}, {found.tokens} tokens of {found.texts} texts"]
    if found.kl is not None:
        lines.append(f"KL divergence at least {_with_ends(found.kl, 3)} nats a token")
    if found.agreement is not None:
        lines.append(f"top-1 agreement {_with_ends(found.agreement, 4)}")
    return tuple(lines)


def _ratio(found: Distance) -> str:
    return f"perplexity {number(found.perplexity)}, times {_with_ends(found.perplexity_ratio, 4)}"


def _with_ends(found: Valued, digits: int) -> str:
    between = "" if found.low is None else f" ({found.low:.{digits}g} to {found.high:.{digits}g})"
    return f"{found.value:.{digits}g}{between}"


def _drifts(found: FreeAnswers) -> Iterator[str]:
    ratio = found.length_ratio
    if ratio is not None and ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high:
        yield f"{ratio.value:.2f} times as long ({ratio.low:.2f} to {ratio.high:.2f})"
    if found.stopped_p < _SIGNIFICANT:
        yield f"{found.stopped} of {found.questions} end by themselves, {found.reference_stopped} before"
    if found.loops_p < _SIGNIFICANT:
        yield f"{found.loops} of {found.questions} go round in circles, {found.reference_loops} before"
