"""The distance between two scorings of the same texts: perplexities, divergence, agreement, and the worst positions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whichbits.analyze.quality.divergence import agree, kl_lower_bound
from whichbits.analyze.quality.intervals import ratio_interval, share_interval
from whichbits.analyze.quality.measures import Distance, Valued, WorstPosition
from whichbits.quality.asked import ScoredText, Token

_WORST = 5
_CONTEXT = 60
"""Characters shown before a token."""


@dataclass(frozen=True)
class Position:
    """One token that both scored."""

    at: int
    logprob: float
    reference_logprob: float
    kl: float | None
    agrees: bool | None

    @property
    def gap(self) -> float:
        """How much less likely the token is to the arm, in nats."""
        return self.reference_logprob - self.logprob


@dataclass(frozen=True)
class PairedText:
    """A text that both scored, split alike."""

    text: ScoredText
    positions: tuple[Position, ...]


def paired(ours: Sequence[ScoredText], theirs: Sequence[ScoredText]) -> tuple[list[PairedText], list[str]]:
    """Pair the texts of an arm with the reference's; return them, and the names of texts that cannot be paired."""
    mine: Mapping[str, ScoredText] = {text.name: text for text in ours}
    found, left = [], []
    for text in theirs:
        other = mine.get(text.name)
        if other is None or [token.key for token in other.tokens] != [token.key for token in text.tokens]:
            left.append(text.name)
            continue
        positions = tuple(_positions(other.tokens, text.tokens))
        if positions:
            found.append(PairedText(text, positions))
        else:
            left.append(text.name)
    return found, left


def _positions(ours: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Position]:
    for at, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine.logprob is not None and other.logprob is not None:
            kl = kl_lower_bound(other.top, mine.top)
            yield Position(at, mine.logprob, other.logprob, kl, agree(other.top, mine.top))


def distance(texts: Sequence[PairedText]) -> Distance | None:
    """Return the distance over these texts, token weighted; None if there are none."""
    tokens = [position for text in texts for position in text.positions]
    if not tokens:
        return None
    gaps = [sum(position.gap for position in text.positions) for text in texts]
    strata = [text.text.domain for text in texts]
    return Distance(
        texts=len(texts),
        tokens=len(tokens),
        perplexity=math.exp(-sum(position.logprob for position in tokens) / len(tokens)),
        reference_perplexity=math.exp(-sum(position.reference_logprob for position in tokens) / len(tokens)),
        perplexity_ratio=ratio_interval(gaps, [len(text.positions) for text in texts], strata, math.exp),
        typical_difference=sum(abs(position.gap) for position in tokens) / len(tokens),
        kl=_mean(texts, "kl", math.inf),
        agreement=_agreement(texts),
    )


def _agreement(texts: Sequence[PairedText]) -> Valued | None:
    """Return the share of positions that agree; where all or none do, resampling sees no doubt, and Wilson's stands."""
    found = _mean(texts, "agrees", 1.0)
    if found is None or found.value not in (0.0, 1.0):
        return found
    told = [position.agrees for text in texts for position in text.positions if position.agrees is not None]
    return share_interval(sum(told), len(told))


def _mean(texts: Sequence[PairedText], name: str, highest: float) -> Valued | None:
    """Return the mean of what positions know under this name, 0 to ``highest``, over texts that know any."""
    told = [[value for each in text.positions if (value := getattr(each, name)) is not None] for text in texts]
    rows = [(sum(values), len(values), text.text.domain) for values, text in zip(told, texts, strict=True) if values]
    if not rows:
        return None
    sums, counts, strata = zip(*rows, strict=True)
    return ratio_interval(sums, counts, strata, lowest=0.0, highest=highest)


def largest_difference(texts: Sequence[PairedText]) -> float:
    """Return the largest |log p - log p'| of any token."""
    return max((abs(position.gap) for text in texts for position in text.positions), default=0.0)


def worst(texts: Sequence[PairedText], above: float) -> tuple[WorstPosition, ...]:
    """Return the tokens that the arm finds least likely in comparison, by more than ``above`` nats, the worst first."""
    every = [(position, text.text) for text in texts for position in text.positions]
    every.sort(key=lambda pair: -pair[0].gap)
    return tuple(_shown(position, text) for position, text in every[:_WORST] if position.gap > above)


def _shown(position: Position, text: ScoredText) -> WorstPosition:
    before = "".join(token.text for token in text.tokens[max(0, position.at - _CONTEXT) : position.at])
    token = text.tokens[position.at].text
    return WorstPosition(text.name, position.at, before[-_CONTEXT:], token, position.gap, position.kl)
