"""What bits cost, token by token: distances, domains, the worst positions; and what they buy: the trade-offs."""

from collections.abc import Iterator

from whichbits.analyze.quality.measures import Distance, Quality, QualityVerdict, TradeOff
from whichbits.analyze.summary import Summary
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.quality_answers import arms_of, free_answers, task_scores
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.sheets.valued import between, share_of
from whichbits.report.wording import MISSING, number, short_load

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
        (arm.arm, _VERDICTS[arm.verdict], *_distance(arm.overall))
        for arm in arms_of(summary)
        if arm.overall is not None
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
        for arm in arms_of(summary)
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
        for arm in arms_of(summary)
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


def _distance(found: Distance | None) -> tuple[str, ...]:
    if found is None:
        return (MISSING,) * 5
    ratio = found.perplexity_ratio
    return (
        str(found.tokens),
        number(found.perplexity),
        between(ratio, "{:.4f}" if ratio.value < _LARGE else "{:.3g}"),
        MISSING if found.kl is None else between(found.kl, "{:.3g}"),
        MISSING if found.agreement is None else share_of(found.agreement),
    )


def _trade(each: TradeOff) -> tuple[str, ...]:
    speeds = [
        phrase("{between} at {load}", between=between(s.ratio, "{:.2f}"), load=short_load(s.load)) for s in each.speeds
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
