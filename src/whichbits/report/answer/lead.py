"""What a reader sees first: the answer in one sentence, how far the run may be trusted, and what nobody knows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.crossings.bands import SPREAD
from whichbits.analyze.curves.load_curves import METRICS
from whichbits.analyze.summary import Recommendation, Summary
from whichbits.analyze.summary.verdicts import Answer, Regime
from whichbits.language.amounts import amount
from whichbits.language.language import Say
from whichbits.language.phrase import joined, listed, phrase
from whichbits.report.answer.important import DOUBTS, in_short
from whichbits.report.answer.predicted import cautions, is_predicted
from whichbits.report.answer.validity import loads_text
from whichbits.report.cells.pooled import pooled
from whichbits.report.wording import LOAD_NAMES, short_load

_TOLD_BY_CHECKS = {"requests_failed", "client_limited", "unfinished"}
_SHADOWS = {"cache_reset_unverified", "hit_rate_unexpected"}
_LONGEST = 220


@dataclass(frozen=True)
class Check:
    """Something that makes numbers worth trusting, or less so."""

    good: bool
    text: str


@dataclass(frozen=True)
class Unknown:
    """What the run leaves open, and the measurement that would settle it."""

    text: str
    settled_by: str


@dataclass(frozen=True)
class Lead:
    """Which arm to serve, and where the lead changes or who else may do."""

    serve: str
    more: str


def lead(summary: Summary) -> Lead | None:
    """Return which arm to serve from which load on; None where the regimes name more than two."""
    if summary.answer is None:
        return None
    low, *high = summary.answer.regimes
    if (everywhere := _everywhere(summary.answer.regimes)) is not None:
        return _throughout(everywhere, summary, ahead_at_low=None if low.arm == everywhere else low.arm)
    chosen = {regime.arm for regime in high if regime.arm is not None and not _named_by_chance(regime, summary)}
    if low.arm is None or len(chosen) != 1 or low.arm in chosen:
        return None
    (then,) = chosen
    if then in low.level_with:
        return _throughout(then, summary, ahead_at_low=low.arm)
    said = phrase("Serve {low} at low load and {high} at high load.", low=low.arm, high=then)
    return Lead(said, _handovers(summary, low.arm, then))


def _everywhere(regimes: Sequence[Regime]) -> str | None:
    """Return the arm that each regime names or holds for as good; of several the one that most of them name."""
    named = Counter(regime.arm for regime in regimes)
    fit = [arm for arm, _ in named.most_common() if all(arm in (one.arm, *one.level_with) for one in regimes)]
    return fit[0] if fit else None


def checks(summary: Summary, say: Say = str) -> tuple[Check, ...]:
    """Return the state of requests, client and repeats, then what else makes numbers doubtful, in short."""
    told = _predicted(summary) if is_predicted(summary) else _measured(summary)
    codes = (DOUBTS | _SHADOWS) - _TOLD_BY_CHECKS
    doubtful = {finding.code: finding for finding in reversed(summary.findings) if finding.code in codes}
    return (*told, *(Check(good=False, text=_short(found.text, say)) for found in reversed(doubtful.values())))


def unknowns(summary: Summary, say: Say = str) -> tuple[Unknown, ...]:
    """Return the first of each kind of open question; nothing without an answer that it could change."""
    if summary.answer is None:
        return ()
    open_ = [finding for finding in summary.findings if finding.kind != "observed" and finding.settled_by]
    by_code = {finding.code: finding for finding in reversed(open_)}
    asked = (Unknown(_short(found.text, say), found.settled_by or "") for found in reversed(by_code.values()))
    return (*_quality(summary.answer, summary), *asked)


def _throughout(arm: str, summary: Summary, ahead_at_low: str | None = None) -> Lead:
    """Name one arm for all loads; ``ahead_at_low`` is another that is ahead of it at low load, but not beyond doubt."""
    regimes = () if summary.answer is None else summary.answer.regimes
    rivals = tuple((regime, tuple(_rivals(regime, arm))) for regime in regimes)
    loads, unit = loads_text(summary), LOAD_NAMES[summary.load_unit]
    said = (
        phrase("Serve {arm} at low load as at high load ({loads} {unit}).", arm=arm, loads=loads, unit=unit)
        if ahead_at_low is None
        else phrase(
            "Serve {arm} at high load; at low load nothing tells it from {low} ({loads} {unit}).",
            arm=arm,
            low=ahead_at_low,
            loads=loads,
            unit=unit,
        )
    )
    level = {other for _, others in rivals for other in others}
    assumed = any(spread_is_assumed(regime, summary) for regime in regimes)
    return Lead(said, joined(" ", (*_exceptions(summary, {arm, *level}), *_sure(rivals, assumed=assumed))))


def spread_is_assumed(regime: Regime, summary: Summary) -> bool:
    """Say whether what tells a regime's arms apart rests on an assumption of how much repeats differ."""
    return any(each.spread_assumed for each in summary.crossovers if each.metric == regime.metric)


def _rivals(regime: Regime, arm: str) -> Iterator[str]:
    """Name the arms that may be as good in a regime as the one that is named for all."""
    named = dict.fromkeys((regime.arm, *regime.level_with))
    yield from (other for other in named if other is not None and other != arm)


def _sure(rivals: Sequence[tuple[Regime, Sequence[str]]], *, assumed: bool) -> Iterator[str]:
    """Say which arms may be as good, once where they are the same in every regime."""
    alike = {frozenset(others) for _, others in rivals}
    if alike == {frozenset()} or not alike:
        yield (
            phrase(
                "It is told apart from every other arm in each regime, if repeats differ by {spread:.0%}.",
                spread=SPREAD,
            )
            if assumed
            else phrase("It is told apart from every other arm in each regime.")
        )
    elif len(alike) == 1:
        yield phrase("{level} may be as good: the numbers do not tell them apart.", level=listed(rivals[0][1]))
    else:
        yield from (_may_do(regime, others) for regime, others in rivals if others)


def _may_do(regime: Regime, others: Sequence[str]) -> str:
    level = listed(others)
    if regime.regime == "low_load":
        return phrase("At low load {level} may be as good or better.", level=level)
    if regime.regime == "high_load_latency":
        return phrase("At high load {level} may be as good or better in latency.", level=level)
    return phrase("At high load {level} may be as good or better in throughput.", level=level)


def _exceptions(summary: Summary, arms: AbstractSet[str]) -> Iterator[str]:
    """Name the metrics by which, from a load that is known, none of these arms leads."""
    for entry in summary.recommendation:
        for place, (arm, load, _) in enumerate(entry.ranges):
            placed = place > 0 and place <= len(entry.uncertain) and entry.uncertain[place - 1] is not None
            if arm not in arms and load is not None and placed:
                turn = _turn(load, entry.uncertain[place - 1])
                name = METRICS[entry.metric].name
                yield phrase("By {metric}, {arm} leads from {turn} on.", metric=name, arm=arm, turn=turn)


def _named_by_chance(regime: Regime, summary: Summary) -> bool:
    """Say whether all other arms may be as good as the one named."""
    return len(regime.level_with) >= len(summary.arms) - 1


def _handovers(summary: Summary, low: str, high: str) -> str:
    """Return where the lead passes, metrics that agree side by side."""
    turns: dict[str, list[str]] = {}
    for entry in summary.recommendation:
        if [arm for arm, _, _ in entry.ranges] == [low, high] and entry.ranges[0][2] is not None:
            turn = _turn(entry.ranges[0][2], *entry.uncertain[:1]) if not any(entry.undecided) else _open(entry)
            turns.setdefault(turn, []).append(METRICS[entry.metric].name)
    if not turns:
        return phrase("Where the lead changes is not known.")
    told = (phrase("{turn} by {metrics}", turn=turn, metrics=listed(names)) for turn, names in turns.items())
    return phrase(
        "The lead changes at {turns} (loads in {unit}, 95 % intervals in parentheses).",
        unit=LOAD_NAMES[summary.load_unit],
        turns=joined(", ", told),
    )


def _turn(load: float, between: tuple[float, float] | None = None) -> str:
    if between is None:
        return phrase("about {load}", load=short_load(load))
    low, high = map(short_load, between)
    return phrase("{load} ({low} to {high})", load=short_load(load), low=low, high=high)


def _open(entry: Recommendation) -> str:
    low, high = next(each for each in entry.undecided if each is not None)
    return phrase("somewhere in {low} to {high}", low=short_load(low), high=short_load(high))


def _measured(summary: Summary) -> tuple[Check, ...]:
    return (*_requests(summary), *_client(summary), *_repeats(summary))


def _predicted(summary: Summary) -> tuple[Check, ...]:
    """Failures, the client and repeats are no matter of a model: what is, is where its numbers are from."""
    return (*(Check(good=False, text=text) for text in cautions(summary)), *_unfinished(summary))


def _requests(summary: Summary) -> Iterable[Check]:
    sent, failed = sum(cell.requests for cell in summary.cells), sum(cell.failed for cell in summary.cells)
    if failed:
        yield Check(
            good=False, text=phrase("{failed:,} of {requests} failed", failed=failed, requests=amount(sent, "request"))
        )
    else:
        yield Check(good=True, text=_all_good(sent))
    yield from _unfinished(summary)


def _all_good(sent: int) -> str:
    if sent == 1:
        return phrase("the only request did not fail")
    return phrase("none of {sent:,} requests failed", sent=sent)


def _unfinished(summary: Summary) -> Iterable[Check]:
    done = sum(cell.state == "done" for cell in summary.cells)
    if done < len(summary.cells):
        yield Check(good=False, text=phrase("ran to the end: {cells}", cells=cells_of(done, len(summary.cells))))


def _client(summary: Summary) -> Iterable[Check]:
    verdicts = Counter(cell.client_verdict for cell in summary.cells if cell.client_verdict is not None)
    total = verdicts.total()
    if total == 0:
        yield Check(good=False, text=phrase("whether the client set the pace is not known"))
        return
    if limited := verdicts["client_limited"]:
        yield Check(good=False, text=phrase("the client set the pace of {cells}", cells=cells_of(limited, total)))
    if suspect := verdicts["client_suspect"]:
        yield Check(
            good=False, text=phrase("the client may have set the pace of {cells}", cells=cells_of(suspect, total))
        )
    if not limited and not suspect:
        yield Check(good=True, text=phrase("the client kept up in {cells}", cells=cells_of(total, total)))


def _repeats(summary: Summary) -> Iterable[Check]:
    done = (sum(cell.state == "done" for cell in each.cells) for each in pooled(summary))
    counts = [count for count in done if count]
    fewest, most = min(counts, default=0), max(counts, default=0)
    if fewest > 1:
        times = (
            phrase("{times}", times=most) if fewest == most else phrase("{fewest} to {most}", fewest=fewest, most=most)
        )
        yield Check(good=True, text=phrase("each arm met each load {times} times", times=times))
    elif most > 1:
        yield Check(
            good=False,
            text=phrase(
                "some loads were met once, others up to {most} times: how much repeats differ is known of these only",
                most=most,
            ),
        )
    elif most > 0:
        yield Check(good=False, text=phrase("loads were met once: how much repeats differ was not measured"))


def _quality(answer: Answer, summary: Summary) -> Iterable[Unknown]:
    if answer.not_known and summary.quality is None:
        yield Unknown(phrase("What fewer bits cost in answers."), phrase("`quality: true` in the study"))


def _short(text: str, say: Say) -> str:
    """Return a finding's first sentence; it is said first, since a language's sentences are its own."""
    first, end, _ = say(text).partition(". ")
    return in_short(first + end.strip(), _LONGEST)
