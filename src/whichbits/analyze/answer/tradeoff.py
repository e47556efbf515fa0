"""Size, speed and quality together: who is on the front, and what each step away from the reference costs and buys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whichbits.analyze.crossings.pairs import between
from whichbits.analyze.curves.load_curves import MARGIN, METRICS, load_words
from whichbits.analyze.quality.measures import ArmQuality, Quality, Speed, TradeOff, Valued
from whichbits.analyze.summary import ArmSummary, Crossover, LoadUnit, Metric
from whichbits.language.phrase import listed, phrase

_SPEED: Mapping[LoadUnit, Metric] = {"concurrency": "output_tokens_per_s", "request_rate": "tpot_ms.p50"}
"""Under a fixed rate every arm that keeps up has the same throughput: there the pace tells them apart."""


@dataclass(frozen=True)
class Candidates:
    """What is compared: arms, their answers, and the crossovers that hold their speeds against each other."""

    arms: Mapping[str, ArmSummary]
    crossovers: Sequence[Crossover]
    load_unit: LoadUnit


def with_trade_offs(quality: Quality, among: Candidates) -> Quality:
    """Return the same with each arm's place among size, speed and quality."""
    found = [_trade_off(arm, quality, among) for arm in quality.arms]
    fronts = front(found, quality.broken)
    return replace(quality, trade_offs=tuple(replace(each, on_front=fronts[each.arm]) for each in found))


def front(found: Sequence[TradeOff], broken: frozenset[str] = frozenset()) -> dict[str, bool | None]:
    """Return who is on the Pareto front; None where nothing is known to compare by. Broken arms are never on it."""
    sound = [each for each in found if each.arm not in broken]
    known = [_axes(each) for each in sound]
    # An axis counts if every sound arm has it: none can win by not being measured.
    axes = [at for at in range(len(known[0])) if all(row[at] is not None for row in known)] if known else []
    points = {each.arm: [row[at] or 0.0 for at in axes] for each, row in zip(sound, known, strict=True)}
    fronts: dict[str, bool | None] = dict.fromkeys((each.arm for each in found), False)
    for arm, point in points.items():
        others = (other for name, other in points.items() if name != arm)
        fronts[arm] = None if not axes else not any(_dominates(other, point) for other in others)
    return fronts


def _axes(each: TradeOff) -> list[float | None]:
    """Return costs, lower is better: log size, log slowness at the lowest and at the highest load, nats lost."""
    speeds = [-float(np.log(speed.ratio.value)) for speed in each.speeds]
    ends: list[float | None] = [speeds[0], speeds[-1]] if speeds else [None, None]
    return [None if each.size_ratio is None else float(np.log(each.size_ratio)), *ends, each.cost]


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Say whether one is nowhere worse, and somewhere better by more than the margin; only the last axis has none."""
    margins = [float(np.log1p(MARGIN))] * (len(one) - 1) + [0.0]
    no_worse = all(a <= b + margin for a, b, margin in zip(one, other, margins, strict=True))
    return no_worse and any(a < b - margin for a, b, margin in zip(one, other, margins, strict=True))


def _trade_off(arm: ArmQuality, quality: Quality, among: Candidates) -> TradeOff:
    size, base = (_size(among.arms.get(name)) for name in (arm.arm, quality.reference))
    ratio = size / base if size is not None and base else None
    speeds = speeds_against(arm.arm, quality.reference, among)
    plain = TradeOff(arm.arm, size, ratio, speeds, cost_of(arm), None, "")
    return replace(plain, text=words(plain, arm, quality.reference))


def _size(arm: ArmSummary | None) -> float | None:
    """Return the weights' size in GiB: as loaded, else as stored."""
    if arm is None:
        return None
    stored = arm.facts.get("total_bytes", arm.facts.get("weight_bytes"))
    return arm.weights_gib or (stored / 2**30 if isinstance(stored, int | float) else None)


def cost_of(arm: ArmQuality) -> float | None:
    """Return nats a token lost: the divergence, or the gap in cross-entropy where that is not known."""
    if arm.verdict in ("reference", "same"):
        return 0.0
    if arm.overall is None:
        return None
    return arm.overall.kl.value if arm.overall.kl is not None else float(np.log(arm.overall.perplexity_ratio.value))


def speeds_against(arm: str, reference: str, among: Candidates) -> tuple[Speed, ...]:
    """Return how much faster the arm is than the reference at the lowest and the highest load that both served."""
    metric = _SPEED[among.load_unit]
    if arm == reference:
        loads = [each.loads for each in among.crossovers if reference in each.arms and each.metric == metric]
        own = dict.fromkeys((loads[0][0], loads[0][-1])) if loads and loads[0] else {}
        return tuple(Speed(load, Valued(1.0, 1.0, 1.0)) for load in own)
    found = between(among.crossovers, (arm, reference), metric)
    if found is None or not found.loads:
        return ()
    return tuple(Speed(found.loads[at], _faster(found, arm, at)) for at in dict.fromkeys((0, len(found.loads) - 1)))


def _faster(crossover: Crossover, arm: str, at: int) -> Valued:
    """Turn the ratio of the two arms' values into how many times as fast the arm is."""
    low, high = crossover.ratio_intervals[at] if crossover.ratio_intervals else (None, None)
    as_it_is = (crossover.arms[0] == arm) != METRICS[crossover.metric].lower_is_better
    if as_it_is:
        return Valued(crossover.ratios[at], low, high)
    return Valued(1 / crossover.ratios[at], None if high is None else 1 / high, None if low is None else 1 / low)


def words(found: TradeOff, arm: ArmQuality, reference: str) -> str:
    """Return what the step from the reference to the arm costs and buys, in a sentence."""
    if arm.verdict == "reference":
        return phrase("{arm} is the reference.", arm=found.arm)
    size = "" if found.size_ratio is None else phrase("{size_ratio:.2g}x the weights; ", size_ratio=found.size_ratio)
    if arm.verdict == "broken":
        return phrase(
            "{arm} against {reference}: broken, whatever its size and speed.", arm=found.arm, reference=reference
        )
    return phrase(
        "{arm} against {reference}: {size}{price}{bought}.",
        arm=found.arm,
        reference=reference,
        size=size,
        price=price(arm),
        bought=_bought(found.speeds),
    )


def price(arm: ArmQuality) -> str:
    """Return what is lost in answers: ``-0.6 % agreement (perplexity +1.2 %)``."""
    if arm.verdict == "same":
        return phrase("no difference in answers beyond float noise")
    if arm.overall is None:
        return phrase("an unknown loss in answers")
    ratio = arm.overall.perplexity_ratio
    perplexity = phrase("perplexity {value:+.2g} %", value=100 * (ratio.value - 1))
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        perplexity += phrase(" (not told apart from none)")
    if arm.overall.agreement is None:
        return perplexity
    return phrase(
        "{value:+.2g} % agreement ({perplexity})", value=100 * (arm.overall.agreement.value - 1), perplexity=perplexity
    )


def _bought(speeds: Sequence[Speed]) -> str:
    """Return the second half of the sentence; nothing where no load was served."""
    parts = [_speed_words(speed) for speed in speeds]
    if len(parts) == 2 and parts[0][0] == parts[1][0]:
        return phrase(" {verb} {low} and {high}", verb=parts[0][0], low=parts[0][1], high=parts[1][1])
    return " " + listed((phrase("{verb} {what}", verb=verb, what=what) for verb, what in parts)) if parts else ""


def _speed_words(speed: Speed) -> tuple[str, str]:
    ratio, at = speed.ratio.value, phrase("at load {load}", load=load_words(speed.load))
    unsure = speed.ratio.low is not None and speed.ratio.high is not None and speed.ratio.low <= 1 <= speed.ratio.high
    if unsure or abs(np.log(ratio)) <= np.log1p(MARGIN):
        return phrase("buys"), phrase("nothing {at}", at=at)
    return (
        (phrase("buys"), phrase("{ratio:.2g}x {at}", ratio=ratio, at=at))
        if ratio > 1
        else (phrase("costs"), phrase("{ratio:.2g} % {at}", ratio=100 * (1 - ratio), at=at))
    )
